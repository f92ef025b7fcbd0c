//! Standard output: the result and nothing else.

use std::io::{self, ErrorKind, IsTerminal, Write};

use clap::ValueEnum;
use serde::Serialize;
use tenure_trace::plain_json;

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

/// Prints `text` for people, in lines that fit where there is less room than usual; what went wrong
/// is red where they look at a terminal, unless `NO_COLOR` is set.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let text = if width() < WIDEST { narrow(text) } else { text.to_owned() };
    if is_coloured() { put(&reddened(&text)) } else { put(&text) }
}

/// Whether there may be colours in what is printed.
pub(crate) fn is_coloured() -> bool {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty());
    wanted && io::stdout().is_terminal()
}

/// Prints what is a file, or for another program: as it is.
pub(crate) fn print_file(text: &str) -> Result<(), Failure> {
    put(text)
}

/// The same with the lines in red that tell of something wrong.
fn reddened(text: &str) -> String {
    let red = |line: &str| {
        let is_bad = line.contains('✗') || line.trim_end().ends_with(" violated");
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        if is_bad { format!("\u{1b}[31m{line}\u{1b}[0m{end}") } else { format!("{line}{end}") }
    };
    text.split_inclusive('\n').map(red).collect()
}

/// Writes `text` as it is. A reader that went away (`| head`) is no failure.
fn put(text: &str) -> Result<(), Failure> {
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
    let text = text.map_err(|error| Failure::environment(error.to_string()))?;
    // Line feeds are between its parts only.
    let lines: Vec<String> = text.lines().map(plain_json).collect();
    put(&(lines.join("\n") + "\n"))
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

/// The same with long lines broken: what follows is indented, below what is said behind a name. A
/// command line that is broken can be copied all the same.
pub(crate) fn narrow(text: &str) -> String {
    let mut narrow = String::with_capacity(text.len());
    for line in text.lines() {
        if line.chars().count() <= width() {
            narrow.push_str(line);
        } else {
            narrow.push_str(&broken(line, width()));
        }
        narrow.push('\n');
    }
    narrow
}

fn broken(line: &str, width: usize) -> String {
    let begins = line.len() - line.trim_start().len();
    let said = said_at(line).filter(|at| *at <= width / 2);
    let (head, rest) = line.split_at(said.unwrap_or(begins));
    let indent = said.map_or(begins + 2, |_| head.chars().count());
    let is_command = ["tenure ", "$ tenure "].iter().any(|it| rest.starts_with(it));
    let joint = if is_command && !rest.contains(" \\") { " \\" } else { "" };
    let room = width.saturating_sub(indent + joint.len()).max(1);
    format!("{head}{}", wrapped(rest, room).join(&format!("{joint}\n{:indent$}", "")))
}

/// Where what is said begins, behind a name and a gap.
fn said_at(line: &str) -> Option<usize> {
    let begins = line.len() - line.trim_start().len();
    let gap = begins + line[begins..].find("  ")?;
    let said = line[gap..].trim_start();
    Some(line.len() - said.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_tell_of_something_wrong_are_red() {
        let text = "  order      violated\n  fencing    holds\n 10✗█\n✗";
        let red = "\u{1b}[31m  order      violated\u{1b}[0m\n  fencing    holds\n\
                   \u{1b}[31m 10✗█\u{1b}[0m\n\u{1b}[31m✗\u{1b}[0m";
        assert_eq!(reddened(text), red);
    }

    #[test]
    fn a_long_line_goes_on_below_what_it_says() {
        let line = "  again:  tenure check central -n 3 --lose 1";
        assert_eq!(
            broken(line, 30),
            "  again:  tenure check \\\n          central -n 3 \\\n          --lose 1"
        );
        assert_eq!(broken("   1 P1 asks, and waits", 19), "   1 P1 asks, and\n     waits");
        let named = "  a name that is long   and what is said of it";
        assert_eq!(broken(named, 30), "  a name that is long   and\n    what is said of it");
    }

    #[test]
    fn long_texts_are_broken_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("one", 2), ["one"]);
        assert_eq!(wrapped("", 7), [""]);
    }
}
