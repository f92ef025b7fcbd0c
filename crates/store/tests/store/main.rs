//! What the store does, as its users see it.

mod access;
mod draw;
mod locks;
mod model;
mod properties;
mod quota;
