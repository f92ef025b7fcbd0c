//! Published algorithms for mutual exclusion, leader election and agreement, one file each. The
//! crate also contains adapters and compositions.
//!
//! The module comment of an algorithm contains a summary, the citation of the paper, assumptions
//! and costs, and the correctness argument. Then come the state, the messages, and the handlers in
//! the order in which a process runs them. The algorithms open no sockets and read no system clock.
//! The simulator, the checker and the runtime execute the same code.
//!
#![doc = include_str!("../README.md")]
#![no_std]

extern crate alloc;

pub mod agreement;
pub mod application;
pub mod byzantine;
pub mod catalogue;
mod catalogue_error;
pub mod channel;
pub mod compose;
pub mod detector;
mod drift;
pub mod election;
mod graph_config;
pub mod mutex;
mod parameters;
pub mod reduction;
pub mod rounds;
pub mod shared_memory;
pub mod stabilization;
mod variants;

pub use graph_config::GraphConfig;
pub use variants::{UnknownVariant, VariantId, Variants};
