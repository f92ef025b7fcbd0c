//! Runs a protocol for real: TCP transport, durable store, timers and handles on tokio.
