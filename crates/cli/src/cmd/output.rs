//! Prints the results of commands to standard output.

use std::io::{self, ErrorKind, IsTerminal, Write};

use clap::ValueEnum;
use serde::Serialize;
use tenure_trace::escape_invisible_in_json;

use super::failure::Failure;
use super::program::{self, replace_program_name};
use super::{capture, machine};

/// Upper bound on the length of printed lines, in characters. Longer lines are hard to read.
const MAX_WIDTH: usize = 100;

/// Lower bound on the length of printed lines, in characters, even if the terminal is narrower.
const MIN_WIDTH: usize = 40;

/// Returns the length to which lines of results are wrapped, in characters. It is the value of the
/// variable `COLUMNS`, or else the width of the terminal, limited to the range from [`MIN_WIDTH`]
/// to [`MAX_WIDTH`]. If neither is known, or if the output of this thread is captured, it is
/// [`MAX_WIDTH`].
pub(crate) fn line_width() -> usize {
    if capture::is_capturing() {
        return MAX_WIDTH;
    }
    let from_environment = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let from_terminal = || {
        let out = io::stdout();
        out.is_terminal().then(|| machine::terminal_columns(&out)).flatten()
    };
    from_environment
        .or_else(from_terminal)
        .map_or(MAX_WIDTH, |columns: usize| columns.clamp(MIN_WIDTH, MAX_WIDTH))
}

/// Format in which a command prints its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text
    #[default]
    Text,
    /// JSON
    Json,
}

impl Format {
    /// Prints a result in this format: as JSON, or as the text that `text` returns.
    pub(crate) fn print(
        self,
        result: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        match self {
            Format::Text => print(&text()),
            Format::Json => print_json(result),
        }
    }
}

/// Prints text for people. If [`line_width`] is less than [`MAX_WIDTH`], wraps the lines. At a
/// terminal, lines that report a failure are red, unless `NO_COLOR` is set.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let text = if line_width() < MAX_WIDTH { wrap_lines(text) } else { text.to_owned() };
    let text = if is_coloured() { colour_failures(&text) } else { text };
    write_stdout(&text).map(drop)
}

pub(crate) fn is_coloured() -> bool {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty());
    wanted && !capture::is_capturing() && io::stdout().is_terminal()
}

/// Prints text without wrapping and without colours, because it is the content of a file or the
/// input of another program. Replaces `tenure` in commands by the name of this program, as the
/// function `print` does.
pub(crate) fn print_unwrapped(text: &str) -> Result<(), Failure> {
    write_stdout(text).map(drop)
}

/// Prints a part of an output without end, as [`print_unwrapped`] does. Returns false if the reader
/// has closed the pipe, as with `| head`. The command should then end.
#[cfg(feature = "service")]
pub(crate) fn print_to_reader(text: &str) -> Result<bool, Failure> {
    write_stdout(text)
}

fn colour_failures(text: &str) -> String {
    let red = |line: &str| {
        let is_bad = line.contains('✗') || line.trim_end().ends_with(" violated");
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        if is_bad { format!("\u{1b}[31m{line}\u{1b}[0m{end}") } else { format!("{line}{end}") }
    };
    text.split_inclusive('\n').map(red).collect()
}

/// Writes text to standard output, with the name of this program instead of `tenure` in commands.
/// If the output of this thread is captured, appends the text to the captured output instead.
/// Returns false if the reader has closed the pipe, as with `| head`.
fn write_stdout(text: &str) -> Result<bool, Failure> {
    let text = replace_program_name(text);
    if capture::append_captured_stdout(&text) {
        return Ok(true);
    }
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::environment(format!("cannot print: {error}"))),
        Ok(()) => Ok(true),
    }
}

/// Prints a line to standard output without buffering, for a program that reads the lines.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn print_flushed_line(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush())
}

pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value);
    let text = text.map_err(|error| Failure::environment(error.to_string()))?;
    print_json_text(&text)
}

/// Prints JSON elements, without wrapping and with escapes for the invisible characters in strings.
pub(crate) fn print_json_text(text: &str) -> Result<(), Failure> {
    // Escapes each line separately, to keep the line feeds between JSON elements. JSON strings
    // contain no line feeds.
    let lines = text.lines().map(|line| escape_invisible_in_json(line) + "\n");
    write_stdout(&lines.collect::<String>()).map(drop)
}

pub(crate) fn json_name(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_string()
}

pub(crate) fn warn_no_effect(option: &str, subject: &str) {
    capture::print_stderr_line(&format!(
        "{}: {option} has no effect on {subject}",
        program::name()
    ));
}

/// Splits text at spaces into lines of at most `width` characters. A longer word becomes a line of
/// its own.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
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

/// Formats a row of a table, which has a label and a text. The text begins at `column`, counted in
/// characters, and is wrapped to the width of the terminal.
pub(crate) fn format_row(label: &str, text: &str, column: usize) -> String {
    let mut row = String::new();
    for (place, line) in wrap(text, line_width() - column).iter().enumerate() {
        let label = if place == 0 { label } else { "" };
        row += format!("{label:<column$}{line}").trim_end();
        row.push('\n');
    }
    row
}

/// Formats rows of cells in columns. Each column is as wide as its longest cell. `is_right_aligned`
/// returns true for the columns that are aligned to the right.
pub(crate) fn format_columns<R: AsRef<[String]>>(
    rows: &[R],
    is_right_aligned: impl Fn(usize) -> bool,
) -> String {
    let count = rows.first().map_or(0, |row| row.as_ref().len());
    let longest = |column: usize| rows.iter().map(|it| it.as_ref()[column].chars().count()).max();
    let widths: Vec<usize> = (0..count).map(|column| longest(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.as_ref().iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            // A cell may be a name of 64 KiB. That is too wide for `{cell:width$}`, whose width is
            // limited.
            let gap = " ".repeat(width - cell.chars().count());
            if is_right_aligned(column) { gap + cell } else { cell.clone() + &gap }
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

/// Wraps lines that are longer than the width of the terminal. A line may consist of a label and a
/// text. If the text begins in the left half of the terminal, the further lines are indented to the
/// column of the text. Otherwise, they are indented a little. A wrapped command line can still be
/// copied.
pub(crate) fn wrap_lines(text: &str) -> String {
    let mut wrapped = String::with_capacity(text.len());
    for line in text.lines() {
        if line.chars().count() <= line_width() {
            wrapped.push_str(line);
        } else {
            wrapped.push_str(&wrap_line(line, line_width()));
        }
        wrapped.push('\n');
    }
    wrapped
}

fn wrap_line(line: &str, width: usize) -> String {
    let indent_end = line.len() - line.trim_start().len();
    let text_start = text_column(line).filter(|at| *at <= width / 2);
    let (head, rest) = line.split_at(text_start.unwrap_or(indent_end));
    let indent = text_start.map_or(indent_end + 2, |_| head.chars().count());
    let is_command = ["tenure ", "$ tenure "].iter().any(|it| rest.starts_with(it));
    let joint = if is_command && !rest.contains(" \\") { " \\" } else { "" };
    let room = width.saturating_sub(indent + joint.len()).max(1);
    format!("{head}{}", wrap(rest, room).join(&format!("{joint}\n{:indent$}", "")))
}

/// Returns the position, in bytes, at which the text after a label begins. A label ends with at
/// least two blanks. Returns `None` for a line without a label.
fn text_column(line: &str) -> Option<usize> {
    let indent_end = line.len() - line.trim_start().len();
    let gap = indent_end + line[indent_end..].find("  ")?;
    let text = line[gap..].trim_start();
    Some(line.len() - text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_failed_lines_red() {
        let text = "  order      violated\n  fencing    holds\n 10✗█\n✗";
        let red = "\u{1b}[31m  order      violated\u{1b}[0m\n  fencing    holds\n\
                   \u{1b}[31m 10✗█\u{1b}[0m\n\u{1b}[31m✗\u{1b}[0m";
        assert_eq!(colour_failures(text), red);
    }

    #[test]
    fn continuation_lines_align_with_the_text() {
        let line = "  again:  tenure check central -n 3 --lose 1";
        assert_eq!(
            wrap_line(line, 30),
            "  again:  tenure check \\\n          central -n 3 \\\n          --lose 1"
        );
        assert_eq!(wrap_line("   1 P1 asks, and waits", 19), "   1 P1 asks, and\n     waits");
        let named = "  a name that is long   and some long description";
        assert_eq!(wrap_line(named, 30), "  a name that is long   and\n    some long description");
    }

    #[test]
    fn wraps_between_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("one", 2), ["one"]);
        assert_eq!(wrap("", 7), [""]);
    }
}
