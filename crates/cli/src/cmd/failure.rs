//! How a command ends: a status, and one line when it failed.

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use tenure_core::Weakness;
use tenure_trace::plain;

/// The exit statuses, which scripts depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Done, and everything held.
    Held = 0,
    /// A property was violated.
    Violated = 1,
    /// Wrong usage or bad input; nothing was changed.
    Usage = 2,
    /// Stopped at a limit before the verdict was known.
    Incomplete = 3,
    /// The environment failed: a port taken, a disk full.
    Environment = 4,
    /// Its peers refuse this node for good: starting it again does not help.
    Expelled = 5,
}

impl Status {
    /// The worse of the two: a violation outweighs what is not known, which outweighs what holds.
    pub(crate) fn and(self, other: Status) -> Status {
        let weight = |status: &Status| match status {
            Status::Held => 0,
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

/// Why a command could not do what it was asked for.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What the process exits with.
    pub(crate) status: Status,
    /// What was wrong and what would be right, in one line.
    says: String,
}

impl Failure {
    /// The user asked for something that cannot be.
    pub(crate) fn usage(says: impl fmt::Display) -> Self {
        Failure { status: Status::Usage, says: one_line(&says.to_string()) }
    }

    /// More may happen than the algorithm's card assumes.
    pub(crate) fn weaker(algorithm: &str, weakness: &Weakness) -> Self {
        let mends = "change it or add --beyond-assumptions";
        Failure::usage(format!("{algorithm}: {weakness}; {mends}"))
    }

    /// The algorithm broke down.
    pub(crate) fn violated(says: impl fmt::Display) -> Self {
        Failure { status: Status::Violated, says: one_line(&says.to_string()) }
    }

    /// It was stopped before the verdict was known.
    pub(crate) fn incomplete(says: impl fmt::Display) -> Self {
        Failure { status: Status::Incomplete, says: one_line(&says.to_string()) }
    }

    /// The machine would not let us.
    pub(crate) fn environment(says: impl fmt::Display) -> Self {
        Failure { status: Status::Environment, says: one_line(&says.to_string()) }
    }

    /// Peers refuse this node for good.
    pub(crate) fn expelled(says: impl fmt::Display) -> Self {
        Failure { status: Status::Expelled, says: one_line(&says.to_string()) }
    }

    /// The same, with a place to look at.
    pub(crate) fn see(mut self, path: &Path) -> Self {
        self.says = format!("{} (see {})", self.says, one_line(&path.display().to_string()));
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.says)
    }
}

/// In one line, and nothing in it that a terminal would obey: files have their say in it.
fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).map(plain);
    lines.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_neither_paints_nor_adds_a_line() {
        let path = Path::new("a\u{1b}[2K\ntenure: \u{202e}fine");
        let failure = Failure::usage(format!("{} is not a trace", path.display())).see(path);
        let name = "a\\u{1b}[2K; tenure: \\u{202e}fine";
        assert_eq!(failure.to_string(), format!("{name} is not a trace (see {name})"));
    }
}
