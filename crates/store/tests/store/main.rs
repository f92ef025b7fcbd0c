//! What the store does, as its users see it.

mod draw;
mod locks;
mod model;
mod properties;
