//! What was found, told as a run.

pub(crate) mod follow;
pub(crate) mod recorder;
pub(crate) mod replay;
pub(crate) mod story;
pub(crate) mod told;
