//! Properties that the user has written as expressions: `never inside(P1) & inside(P3)`.
//!
//! [`OwnProperty::parse`] parses an expression and checks its names and types against the
//! [`Vocabulary`] of an algorithm. An engine shows global states to the resulting [`OwnProperty`]
//! through a [`StateView`]. The checker implements a view of its worlds. For recorded events, of a
//! trace or of a simulation in progress, there is the [`PropertyJudge`].

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
