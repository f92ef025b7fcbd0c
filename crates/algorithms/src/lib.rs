//! Published algorithms for mutual exclusion, leader election and agreement, one file each. The
//! crate also contains adapters and compositions.
//!
//! Each file follows its paper. It contains a summary, the citation, assumptions and costs, and the
//! correctness argument. The code follows: the state, the messages, and the handlers in the order
//! in which a process runs them. Nothing here opens a socket or reads a clock; simulator, checker
//! and runtime execute this code.
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
