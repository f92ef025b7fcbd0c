//! Properties that the user has written as expressions: `never inside(P1) & inside(P3)`.
//!
//! [`OwnProperty::parse`] parses an expression and checks its names and types against the
//! [`Vocabulary`] of an algorithm. An engine provides the states of the group through a
//! [`StateView`], in which the [`OwnProperty`] is evaluated. The checker implements this trait for
//! the states that it explores. [`PropertyJudge`] evaluates properties from the records of a trace,
//! or of a simulation in progress.

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
pub use evaluate::StateView;
pub use facts::{ServiceFacts, StepFacts, Tracked};
pub use formula::Uses;
pub use judge::PropertyJudge;
pub use own::{Binding, Form, OwnProperty};
pub use vocabulary::{StateShape, Vocabulary};
