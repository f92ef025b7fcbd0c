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

mod expectation;
mod experiment;
mod file;
mod formula;
mod nearest;
mod question;
mod scenario;

use serde_json::Value;

pub use expectation::Finding;
pub use experiment::{Conducted, Experiment, Results, conduct};
pub use question::{Chapter, Question};
pub use scenario::{Scenario, option};

/// What came of what was done.
#[derive(Clone, Debug, Default)]
pub struct Made {
    /// The figures.
    pub data: Value,
    /// What happened, drawn.
    pub picture: Option<String>,
}

impl From<Value> for Made {
    fn from(data: Value) -> Self {
        Made { data, picture: None }
    }
}

/// Somebody who does what lessons ask for.
pub trait Performs {
    /// Why something could not be done.
    type Failure;

    /// Does what a line for the command `tenure` says, such as `check central -n 3`. The data is
    /// what the command prints as JSON.
    ///
    /// # Errors
    ///
    /// When the line makes no sense.
    fn line(&self, line: &str, drawn: bool) -> Result<Made, Self::Failure>;

    /// What was said of a line that makes no sense; `None` when something else failed.
    fn refused(&self, failure: &Self::Failure) -> Option<String>;

    /// Does what no line can do, by its name and with these arguments.
    ///
    /// # Errors
    ///
    /// When there is no such call, or it takes other arguments.
    fn call(&self, name: &str, arguments: &Value) -> Result<Made, Self::Failure>;
}
