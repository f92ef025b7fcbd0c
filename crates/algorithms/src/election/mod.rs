//! Leader election.

pub mod bully;

pub use bully::Bully;
