//! Conversion of findings into runs, traces and text.

pub(crate) mod description;
pub(crate) mod findings;
pub(crate) mod recorder;
pub(crate) mod replay;
pub(crate) mod schedule;
