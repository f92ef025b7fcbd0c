//! Maps the name of an algorithm to its type.
//!
//! Engines are generic over the protocol, but a command line, a page or a file has only a name.
//! [`algorithm`] returns an [`AnyAlgorithm`] for a name. It can be simulated, checked, stepped and
//! replayed, and it takes and returns plain data. This crate compiles the engines once per
//! algorithm type. The type is erased once per run and not once per step, so callers need no
//! generics and compile no engine.
//!
#![doc = include_str!("../README.md")]

mod any_algorithm;
pub mod applications;
mod catalogue;
mod check;
mod instance;
mod run;

pub use any_algorithm::AnyAlgorithm;
pub use catalogue::{
    Catalogue, UserAlgorithm, agreements, algorithm, card, elections, expected, locks, names,
    office,
};
pub use run::{Run, Steering, TraceHeader, TraceOutput};
