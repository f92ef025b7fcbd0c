//! A run that is stepped through, and in which somebody meddles.

pub(crate) mod follow;
pub(crate) mod next;
pub(crate) mod recorder;
pub(crate) mod session;
pub(crate) mod steered;
