//! One file per published algorithm of mutual exclusion, leader election and agreement, with
//! adapters and compositions.
//!
//! Each file reads like its paper: what it does, the citation, its assumptions and costs, why
//! it is right, the state, the messages, and the handlers in the order of a process's life.
//! Nothing here opens a socket or reads a clock; simulator, checker and runtime run this code.
//!
#![doc = include_str!("../README.md")]
#![no_std]

extern crate alloc;

pub mod agreement;
pub mod application;
pub mod catalogue;
pub mod channel;
pub mod compose;
pub mod detector;
mod drift;
pub mod election;
pub mod mutex;
pub mod reduction;
mod variants;

pub use variants::{Switch, UnknownVariant, Variants};
