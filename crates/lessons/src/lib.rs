//! Lessons: questions for self-study and worked examples, as data in `docs/questions` and
//! `docs/scenarios`.
//!
//! A lesson is prose and experiments. An [`Experiment`] is something that is done, and a table of
//! what should come of it: a name, where the figure stands in the data, and what it should be.
//! What is done is mostly a line for the command `tenure`, so that whoever reads a page can copy
//! the line and vary it; what no line can do is a call by name. Lessons know no engine:
//! somebody [`Performs`] lines and calls for them.
//!
//! Each experiment can be *broken*: one thing about it is changed, and then something that is
//! expected must fail to come. So none of them prints what it was told to print.
//!
#![doc = include_str!("../README.md")]

mod expectation;
mod experiment;
mod file;
mod formula;
mod nearest;
mod performs;
mod question;
mod scenario;

pub use expectation::Finding;
pub use experiment::{Conducted, Experiment, Results, conduct};
pub use nearest::nearest;
pub use performs::{Made, Performs};
pub use question::{Chapter, Question};
pub use scenario::{Scenario, option};
