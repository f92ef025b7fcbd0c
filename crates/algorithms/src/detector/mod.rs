//! Failure detectors: who seems to have crashed.

pub mod heartbeat;

pub use heartbeat::Heartbeat;
