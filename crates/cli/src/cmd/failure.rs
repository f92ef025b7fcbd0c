//! The exit statuses of commands, and the one-line error of a failed command.

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use tenure_core::UnmetAssumption;
use tenure_trace::escape_invisible;
use tenure_trace::property::ExpressionError;

/// Exit status of a command. Scripts depend on the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Success: all checked properties hold.
    Success = 0,
    /// A property was violated, or an expected result did not occur.
    Violated = 1,
    /// The usage or the input was invalid.
    Usage = 2,
    /// The command was stopped by a limit or an interrupt before the verdict was known.
    Incomplete = 3,
    /// The environment failed, for example a port in use or a full disk.
    Environment = 4,
    /// The node is evicted: its peers reject it permanently, so a restart does not help.
    Evicted = 5,
}

impl Status {
    /// Returns the worse of two statuses. An incomplete verdict is worse than success, and all
    /// other statuses are worse than an incomplete verdict. Of two equally bad statuses, returns
    /// `self`.
    pub(crate) fn worse(self, other: Status) -> Status {
        let weight = |status: &Status| match status {
            Status::Success => 0,
            Status::Incomplete => 1,
            _ => 2,
        };
        if weight(&other) > weight(&self) { other } else { self }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        ExitCode::from(status as u8)
    }
}

#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    /// The problem and the remedy, in one line. Only the message of an invalid expression has
    /// several lines.
    message: String,
}

impl Failure {
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Failure { status: Status::Usage, message: one_line(&message.to_string()) }
    }

    /// Creates a failure for an invalid expression. The message has several lines, because a caret
    /// marks the position of the error in the expression.
    pub(crate) fn invalid_expression(option: &str, error: &ExpressionError) -> Self {
        let text = format!("--{option}: {error}");
        let lines: Vec<_> = text.lines().map(|line| escape_invisible(line).into_owned()).collect();
        Failure { status: Status::Usage, message: lines.join("\n") }
    }

    pub(crate) fn unmet_assumption(algorithm: &str, weakness: &UnmetAssumption) -> Self {
        let remedy = "change it or add --beyond-assumptions";
        Failure::usage(format!("{algorithm}: {weakness}; {remedy}"))
    }

    pub(crate) fn violated(message: impl fmt::Display) -> Self {
        Failure { status: Status::Violated, message: one_line(&message.to_string()) }
    }

    /// Creates a failure for a command that was stopped before the verdict was known.
    pub(crate) fn incomplete(message: impl fmt::Display) -> Self {
        Failure { status: Status::Incomplete, message: one_line(&message.to_string()) }
    }

    /// Creates a failure whose cause is the environment, such as a port in use or a full disk.
    pub(crate) fn environment(message: impl fmt::Display) -> Self {
        Failure { status: Status::Environment, message: one_line(&message.to_string()) }
    }

    /// Returns a function that converts an error into a failure of the environment. The message of
    /// the failure is `cannot ACT: ERROR`.
    pub(crate) fn cannot<E: fmt::Display>(act: impl fmt::Display) -> impl Fn(E) -> Self {
        move |error| Failure::environment(format!("cannot {act}: {error}"))
    }

    pub(crate) fn cannot_write<E: fmt::Display>(path: &Path) -> impl Fn(E) -> Self {
        move |error| Failure::environment(format!("cannot write {}: {error}", path.display()))
    }

    pub(crate) fn evicted(message: impl fmt::Display) -> Self {
        Failure { status: Status::Evicted, message: one_line(&message.to_string()) }
    }

    pub(crate) fn with_details_path(mut self, path: &Path) -> Self {
        self.message = format!("{} (see {})", self.message, one_line(&path.display().to_string()));
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Joins the lines of a text with `; ` and escapes its invisible characters. The text may contain
/// file names and the contents of files.
fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).map(escape_invisible);
    lines.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_control_characters_of_file_names() {
        let path = Path::new("a\u{1b}[2K\ntenure: \u{202e}fine");
        let failure =
            Failure::usage(format!("{} is not a trace", path.display())).with_details_path(path);
        let name = "a\\u{1b}[2K; tenure: \\u{202e}fine";
        assert_eq!(failure.to_string(), format!("{name} is not a trace (see {name})"));
    }
}
