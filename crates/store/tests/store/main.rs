//! Behaviour of the store through its public interface.

mod access;
mod comparison;
mod draw;
mod locks;
mod log;
mod model;
mod properties;
mod quota;
