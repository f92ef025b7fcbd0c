//! Hand-made traces: what is wrong is found, and what is right is let pass.

mod applications;
mod elections;
mod files;
mod locks;
mod long;
mod resource;
mod story;
