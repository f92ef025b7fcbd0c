//! Hand-made traces: violations are found, correct runs pass.

mod applications;
mod elections;
mod files;
mod locks;
mod long;
mod resource;
mod story;
