//! Metrics and spans of the client.

pub(crate) mod metrics;
pub(crate) mod spans;
