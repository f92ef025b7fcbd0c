//! Standard output: the result and nothing else.

use std::io::{self, ErrorKind, Write};

use clap::ValueEnum;
use serde::Serialize;

use super::failure::Failure;

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// Prints `text`. A reader that went away (`| head`) is no failure.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::environment(format!("cannot print: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// Prints `value` as JSON.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value);
    print(&(text.map_err(|error| Failure::environment(error.to_string()))? + "\n"))
}
