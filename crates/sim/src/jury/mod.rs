//! What judges a run while it happens.

pub(crate) mod beliefs;
pub(crate) mod causality;
pub(crate) mod watcher;
