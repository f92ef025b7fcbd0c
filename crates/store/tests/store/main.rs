//! What the store does, as its users see it.

mod locks;
