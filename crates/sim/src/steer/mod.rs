//! Runs that are paused after each step and in which the caller may intervene.

pub(crate) mod follow;
pub(crate) mod interactive_run;
pub(crate) mod next;
pub(crate) mod recorder;
pub(crate) mod steered_run;
