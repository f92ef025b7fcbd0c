//! Watches of keys and queues.

pub(crate) mod queue_changes;
pub(crate) mod watcher;
