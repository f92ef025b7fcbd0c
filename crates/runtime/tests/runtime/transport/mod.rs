//! The transport over real sockets on loopback. No test asserts a duration: those that wait, wait
//! for something to happen, and fail when it does not within a generous bound.

mod decoder;
mod handshake;
mod keys;
mod mesh;
mod pressure;
mod resumption;
mod sessions;
mod support;
