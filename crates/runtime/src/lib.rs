//! Runs a protocol on tokio, with a TCP transport, a durable store, timers, and handles for its
//! users.
//!
//! [`start_node`] drives one process of any [`Protocol`](tenure_core::Protocol). The simulator and
//! the checker run the same implementation of the protocol. [`LockApplication`] provides a [`Lock`]
//! and an [`ElectionHandle`] for its users.
//!
//! Leases are measured with the monotonic clock of the system. On Linux this clock does not count
//! time in which the machine is suspended. After a suspension, a process may therefore use an
//! expired lease, for at most the time that remained before the suspension. The fence of each entry
//! protects a resource that compares fences.
//!
#![doc = include_str!("../README.md")]

mod application;
mod driver;
mod envelope;
mod environment;
mod executor;
mod exposition;
mod failure;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod histogram;
mod injection;
mod lock;
mod lock_application;
mod log_throttle;
mod names;
mod node_components;
mod peer_liveness;
pub mod ports;
mod priority;
mod saved_state;
mod scripted;
mod step_record;
pub mod store;
mod store_worker;
#[cfg(test)]
mod tests;
mod timers;
mod trace_sink;
pub mod transport;
mod validator;
mod wake_timer;

pub use application::{Application, PassthroughApplication};
pub use driver::{RunningNode, start_node};
pub use environment::SystemEnvironment;
pub use exposition::{MetricFamily, MetricsExposition};
pub use failure::{NodeFailure, NodeStartError};
pub use histogram::{DurationHistogram, HistogramCounts};
pub use injection::FaultInjection;
pub use lock::{ElectionHandle, Guard, Lock, LockLossReason, LockRequest, NodeStopped};
pub use lock_application::{LockApplication, LockCommand, LockEvent, LockRequestReceiver};
pub use names::{ProcessName, ProcessNames};
pub use node_components::{NodeComponents, SuspectedPeersFn};
pub use peer_liveness::LivePeerSessions;
pub use priority::lower_thread_priority;
pub use scripted::{ScriptedClusterError, run_schedule_on_nodes};
pub use store::StableStorage;
pub use trace_sink::TraceSink;
pub use validator::{ValidationError, Validator};
