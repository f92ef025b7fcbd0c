//! Runs a protocol for real: TCP transport, durable store, timers and handles on tokio.
//!
//! [`start`] drives one process of any [`Protocol`](tenure_core::Protocol): the very value that
//! the simulator runs and the checker explores. [`Front`] gives its users a [`Lock`] and a
//! [`Leadership`].
//!
#![doc = include_str!("../README.md")]

mod account;
mod clock;
mod disk;
mod driver;
#[cfg(test)]
mod ending;
mod envelope;
mod environment;
pub mod exercise;
mod failure;
mod front;
mod injection;
#[cfg(test)]
mod leaving;
mod local;
mod lock;
mod outlet;
mod plausible;
mod presence;
mod priority;
mod recorder;
mod seldom;
mod steered;
pub mod store;
mod timers;
pub mod transport;

pub use driver::{Parts, Running, Suspected, start};
pub use environment::System;
pub use failure::{Failure, StartError};
pub use front::{Asks, Demand, Front, Tidings};
pub use injection::Injection;
pub use local::{Local, Raw};
pub use lock::{Ask, Guard, Leadership, Lock, Lost, Stopped};
pub use plausible::{Implausible, Plausible};
pub use presence::Present;
pub use priority::set_back;
pub use recorder::Recorder;
pub use steered::{ClusterError, follow};
pub use store::Store;
