//! Behaviour of the store through its public interface.

mod access;
mod draw;
mod locks;
mod model;
mod properties;
mod quota;
