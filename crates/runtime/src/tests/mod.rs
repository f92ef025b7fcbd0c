//! Tests that need access to the internals of a node.

mod handover;
mod lease_expiry;
mod stuck_disk;
