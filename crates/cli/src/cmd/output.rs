//! Standard output: the result and nothing else.

use std::io::{self, ErrorKind, IsTerminal, Write};

use clap::ValueEnum;
use serde::Serialize;

use super::failure::Failure;
use super::program::{self, with_own_name};

/// Lines are no longer than this where there is more room: nobody likes to read them.
const WIDEST: usize = 100;

/// Nothing can be told in less.
const NARROWEST: usize = 40;

/// How long a line of a result may be: as the terminal has it, or `COLUMNS` says.
pub(crate) fn width() -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let seen = || {
        let out = io::stdout();
        let size = out.is_terminal().then(|| rustix::termios::tcgetwinsize(out).ok())??;
        Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
    };
    said.or_else(seen).map_or(WIDEST, |columns: usize| columns.clamp(NARROWEST, WIDEST))
}

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
    match out.write_all(with_own_name(text).as_bytes()).and_then(|()| out.flush()) {
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

/// Says that something that was asked for makes no difference; what is done stays the same.
pub(crate) fn no_effect(asked: &str, on: &str) {
    eprintln!("{}: {asked} has no effect on {on}", program::name());
}

/// Lines of at most `width` characters, broken between words where that is possible.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_string());
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_broken_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("one", 2), ["one"]);
        assert_eq!(wrapped("", 7), [""]);
    }
}
