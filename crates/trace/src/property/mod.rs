//! Properties that the user has written as expressions: `never inside(P1) & inside(P3)`.
//!
//! [`ExpressionProperty::parse`] parses an expression and checks its names and types against the
//! [`Vocabulary`] of an algorithm. An [`ExpressionProperty`] is evaluated in the states that an
//! engine provides through the trait [`StateView`]. The checker implements [`StateView`] for the
//! states that it explores. [`PropertyJudge`] evaluates properties from the records of a trace, or
//! of a simulation in progress.

mod check;
mod custom;
mod error;
mod evaluate;
mod facts;
mod formula;
mod judge;
mod lexer;
mod parser;
mod predicates;
mod steps;
mod syntax;
mod vocabulary;

pub use custom::{ExpressionProperty, TemporalOperator, VariableAssignment};
pub use error::ExpressionError;
pub use evaluate::StateView;
pub use facts::{FactSelection, ServiceFacts, StepFacts};
pub use formula::PropertyInputs;
pub use judge::PropertyJudge;
pub use steps::order_by_step;
pub use vocabulary::{SampledStateSchema, Vocabulary};
