//! Runs a protocol for real: TCP transport, durable store, timers and handles on tokio.

pub mod store;
pub mod transport;

pub use store::Store;
