//! The one place where the name of an algorithm becomes a type.
//!
//! Engines are generic over the protocol that they step; a command line, a page or a file has only
//! its name. [`subject`] makes of a name a [`Subject`]: something that can be simulated, checked,
//! stepped through and followed, and that takes and returns plain data. What it does is compiled
//! here, once for each type, and forgotten once for each run, never for each step: whoever calls
//! it is generic over nothing, and is compiled without any engine.
//!
#![doc = include_str!("../README.md")]

pub mod applications;
mod catalogue;
mod examination;
mod instance;
mod run;
mod subject;

pub use catalogue::{
    Brought, Catalogue, agreements, card, elections, expected, locks, names, office, subject,
};
pub use examination::{Examination, Watch};
pub use run::{Head, Run, Steering, Traced};
pub use subject::Subject;
