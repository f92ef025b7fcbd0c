//! Watches of single keys, and of the queues of locks and elections.

pub(crate) mod key_changes;
pub(crate) mod queue_changes;
pub(crate) mod watcher;
