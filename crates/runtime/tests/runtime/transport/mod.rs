//! The transport over real sockets on the loopback interface. No test asserts a duration. Tests
//! wait for events and fail after a generous time limit.

mod decoder;
mod handshake;
mod keys;
mod mesh;
mod pressure;
mod resumption;
mod sessions;
pub(crate) mod support;
