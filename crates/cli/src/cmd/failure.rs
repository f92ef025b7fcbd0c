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
        Failure::usage(format!("{algorithm} {weakness}; {mends}"))
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

/// Help and version are printed; anything else becomes one line.
pub(crate) fn of_usage(error: &clap::Error) -> Result<Status, Failure> {
    use clap::error::ErrorKind;
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            super::output::print(&error.render().to_string())?;
            Ok(Status::Held)
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            Err(Failure::usage(super::missing(std::env::args().skip(1))))
        }
        _ => Err(Failure::usage(condensed(&error.render().to_string()))),
    }
}

/// What clap says in several lines, in one: without usage and the advice to ask for help.
fn condensed(rendered: &str) -> String {
    let told = rendered
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:"))
        .filter(|line| !line.is_empty() && !line.starts_with("For more information"))
        .filter(|line| !line.starts_with("tip: to pass"));
    let mut line = String::new();
    for part in told {
        let part = part.strip_prefix("error: ").or(part.strip_prefix("tip: ")).unwrap_or(part);
        let joint = match line.chars().last() {
            None => "",
            Some(':') => " ",
            Some(_) => "; ",
        };
        line.push_str(joint);
        line.push_str(part);
    }
    // What there is not is named in what we say of it.
    let own = line.split_once(": ").filter(|(_, says)| says.starts_with("there is no "));
    let line = own.map_or(line.as_str(), |(_, says)| says).to_owned();
    OWN_WORDS.iter().fold(line, |line, (theirs, ours)| line.replace(theirs, ours))
}

/// What the standard library says of a value that it cannot read, and what would be right.
const OWN_WORDS: [(&str, &str); 7] = [
    (" is not in 0..=4294967295", " is too large"),
    ("invalid digit found in string", "a whole number is needed, such as 3"),
    ("cannot parse integer from empty string", "a whole number is needed, such as 3"),
    ("number too large to fit in target type", "that is too large"),
    ("invalid float literal", "a number is needed, such as 0.1"),
    ("invalid socket address syntax", "an address and a port are needed: 127.0.0.1:7101"),
    ("invalid IP address syntax", "an address is needed, such as 127.0.0.1"),
];

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

    #[test]
    fn what_takes_clap_many_lines_takes_one() {
        let rendered = "error: unexpected argument '--nods' found\n\n  tip: a similar argument \
                        exists: '--nodes'\n\nUsage: tenure run --nodes <N>\n\nFor more \
                        information, try '--help'.\n";
        let says = "unexpected argument '--nods' found; a similar argument exists: '--nodes'";
        assert_eq!(condensed(rendered), says);
        let rendered = "error: invalid value 'x' for '-n <N>': invalid digit found in string\n\n  \
                        tip: to pass 'x' as a value, use '-- x'\n";
        let says = "invalid value 'x' for '-n <N>': a whole number is needed, such as 3";
        assert_eq!(condensed(rendered), says);
        let rendered = "error: the following required arguments were not provided:\n  <SHELL>\n\n\
                        Usage: tenure completions <SHELL>\n";
        let says = "the following required arguments were not provided: <SHELL>";
        assert_eq!(condensed(rendered), says);
    }
}
