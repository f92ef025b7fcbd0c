//! Interface between lessons and the engines that execute their actions.

use serde_json::Value;

#[derive(Clone, Debug, Default)]
pub(crate) struct ActionResult {
    /// Results of the action: the JSON that its command or function has returned.
    pub(crate) data: Value,
    /// Diagram of the run, as text; `None` if none was drawn.
    pub(crate) picture: Option<String>,
}

impl From<Value> for ActionResult {
    fn from(data: Value) -> Self {
        ActionResult { data, picture: None }
    }
}

/// Executes the actions of lessons.
pub(crate) trait ActionExecutor {
    type Failure;

    /// Runs a command line of `tenure`, such as `check central -n 3`. The data of the result is the
    /// JSON output. If `drawn` is true and the command writes a trace, the result has a diagram.
    ///
    /// # Errors
    ///
    /// Returns an error if the command line is invalid, or if the command fails or is interrupted.
    /// A violated property is no error.
    fn run_line(&self, line: &str, drawn: bool) -> Result<ActionResult, Self::Failure>;

    /// Returns the error message of an invalid command line; `None` for any other failure.
    fn usage_error(&self, failure: &Self::Failure) -> Option<String>;

    /// Performs a call by its name with these arguments.
    ///
    /// # Errors
    ///
    /// Returns an error if the call is unknown, its arguments are invalid, or the call is
    /// interrupted.
    fn call(&self, name: &str, arguments: &Value) -> Result<ActionResult, Self::Failure>;
}
