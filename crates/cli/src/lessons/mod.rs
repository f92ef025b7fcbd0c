//! Lessons: questions for self-study and worked examples, as data in `docs/questions` and
//! `docs/scenarios`.
//!
//! A lesson is prose with experiments. An experiment is an action with a table of expected results.
//! Each row of the table states the name of a figure, the location of the figure in the data, and
//! the expected value. Most actions are command lines for `tenure`, which readers can copy and
//! vary. Others are named calls. This module does not depend on any engine: an [`ActionExecutor`]
//! executes command lines and calls.
//!
//! Each experiment has a *negative control*: with one change, an expectation must fail. An
//! experiment thus cannot merely print its expected values.

mod action_executor;
mod expectation;
mod experiment;
mod file;
mod formula;
mod question;
mod scenario;

pub(crate) use action_executor::{ActionExecutor, ActionResult};
pub(crate) use expectation::ExpectationResult;
pub(crate) use experiment::{CompletedExperiment, ExperimentResults, run_experiments};
pub(crate) use question::{Question, QuestionChapter};
pub(crate) use scenario::{Scenario, option_flag};
