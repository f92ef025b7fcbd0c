//! Properties that a reader writes as expressions: `never inside(P1) & inside(P3)`.
//!
//! An expression is parsed, its names and types are checked against the [`Vocabulary`] of an
//! algorithm, and the result is an [`OwnProperty`]. An engine shows global states to it through a
//! [`View`]. The checker has a view of its worlds. Recorded events, of a trace or of a simulation
//! in progress, have the [`PropertyJudge`].

mod check;
mod error;
mod evaluate;
mod facts;
mod formula;
mod judge;
mod lexer;
mod own;
mod parser;
mod predicates;
mod syntax;
mod vocabulary;

pub use error::PropertyError;
pub use evaluate::View;
pub use facts::{ServiceFacts, StepFacts, Tracked};
pub use formula::Uses;
pub use judge::PropertyJudge;
pub use own::{Binding, Form, OwnProperty};
pub use vocabulary::{StateShape, Vocabulary};
