//! Locks without shared memory.

pub(super) mod central;
pub(super) mod ring;
