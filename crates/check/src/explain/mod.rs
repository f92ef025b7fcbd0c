//! Conversion of a search's findings into runs, traces and text.

pub(crate) mod description;
pub(crate) mod findings;
mod own;
pub(crate) mod recorder;
pub(crate) mod replay;
pub(crate) mod schedule;
