//! Traces built by hand: violations are found, and correct runs pass.

mod applications;
mod elections;
mod files;
mod locks;
mod long;
mod networks;
mod resource;
mod story;
