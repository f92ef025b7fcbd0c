//! Channels built on worse channels.

pub mod fifo;

pub use fifo::Fifo;
