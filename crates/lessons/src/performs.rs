//! Who does what an experiment asks for, and what came of it.

use serde_json::Value;

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
