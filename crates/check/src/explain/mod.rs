//! Conversion of a search's findings into runs, traces and text.

mod custom;
pub(crate) mod description;
pub(crate) mod findings;
pub(crate) mod recorder;
pub(crate) mod replay;
pub(crate) mod schedule;
