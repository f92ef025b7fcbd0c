//! Lessons: questions for self-study and worked examples, as data in `docs/questions` and
//! `docs/scenarios`.
//!
//! A lesson is prose with experiments. An [`Experiment`] is an action with a table of expected
//! results: for each figure its name, its location in the data, and its value. Most actions are
//! command lines for `tenure`, which readers can copy and vary; others are calls by name. This
//! crate does not depend on any engine. An implementation of [`Performs`] executes command lines
//! and calls.
//!
//! Each experiment has a *negative control*: with one change, an expectation must fail. An
//! experiment thus cannot merely print its expected values.
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
