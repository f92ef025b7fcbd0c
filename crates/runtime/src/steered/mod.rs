//! Real nodes whose every step is said: messages travel over TCP and then wait at the receiver
//! until they are told to arrive, and no timer fires by itself.

mod cluster;
mod member;

pub use cluster::{ClusterError, follow};
