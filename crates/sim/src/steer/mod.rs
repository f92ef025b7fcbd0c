//! Runs that are stepped through and intervened in.

pub(crate) mod follow;
pub(crate) mod next;
pub(crate) mod recorder;
pub(crate) mod session;
pub(crate) mod steered;
