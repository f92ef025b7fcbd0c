#![doc = include_str!("../README.md")]

#[cfg(target_family = "wasm")]
mod boundary;
mod commands;
mod page;

pub use page::{BackendRequest, BackendResponse, MonotonicClock, PageBackend};
