//! Locks without shared memory.

mod aged;
pub(super) mod central;
pub(super) mod lamport;
pub(super) mod problem;
pub(super) mod ricart_agrawala;
pub(super) mod ring;
