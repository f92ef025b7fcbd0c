//! The name of this program, as it appears in messages.
//!
//! A program that adds algorithms has its own name. The commands in its messages begin with that
//! name, because `tenure` does not know the algorithms.

use std::borrow::Cow;
use std::cell::RefCell;
use std::path::Path;
use std::sync::OnceLock;

use clap::CommandFactory;

const TENURE: &str = "tenure";

static NAME: OnceLock<String> = OnceLock::new();

/// Sets the name of this program. It is the file name of the executable, without its extension, if
/// `uses_executable_name` is true. Otherwise, it is `tenure`.
pub(crate) fn init_name(uses_executable_name: bool) {
    let started = std::env::args_os().next();
    let file = started.as_deref().and_then(|path| Path::new(path).file_stem());
    let own = file.map(|name| name.to_string_lossy().into_owned()).filter(|_| uses_executable_name);
    // Ignores an error, because a second call would set the same name.
    let _ = NAME.set(own.unwrap_or_else(|| TENURE.to_owned()));
}

thread_local! {
    /// Arguments of the command, if the command runs inside another program. Otherwise, the value
    /// is `None`, and the command uses the arguments of this process.
    static ARGUMENTS: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Returns the arguments of the command: those that [`run_with_arguments`] sets, or else those of
/// this process.
pub(crate) fn arguments() -> Vec<String> {
    let own = || std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    ARGUMENTS.with_borrow(Clone::clone).unwrap_or_else(|| own().collect())
}

/// Runs `act`. While `act` runs, the function [`arguments`] returns the given arguments instead of
/// the arguments of this process.
pub(crate) fn run_with_arguments<T>(arguments: &[String], act: impl FnOnce() -> T) -> T {
    let before = ARGUMENTS.replace(Some(arguments.to_vec()));
    let result = act();
    ARGUMENTS.set(before);
    result
}

pub(crate) fn name() -> &'static str {
    NAME.get().map_or(TENURE, String::as_str)
}

/// Replaces `tenure` by the name of this program in all commands that a text contains.
pub(crate) fn replace_program_name(text: &str) -> Cow<'_, str> {
    replace_name(text, name())
}

/// Replaces `tenure` by `name` in all commands that a text contains. An occurrence belongs to a
/// command if a backtick precedes it, or if the name of a subcommand follows it. A longer word that
/// ends in `tenure` is no occurrence.
fn replace_name<'t>(text: &'t str, name: &str) -> Cow<'t, str> {
    const WORD: &str = "tenure ";
    if name == TENURE {
        return Cow::Borrowed(text);
    }
    let is_part_of_word = |letter: char| letter.is_alphanumeric() || "-_./".contains(letter);
    let mut replaced = String::new();
    let mut copied = 0;
    for (place, _) in text.match_indices(WORD) {
        let (before, after) = (&text[..place], &text[place + WORD.len()..]);
        let end = after.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
        let is_command =
            before.ends_with('`') || is_subcommand(&after[..end.unwrap_or(after.len())]);
        if is_command && !before.ends_with(is_part_of_word) {
            replaced.push_str(&text[copied..place]);
            replaced.push_str(name);
            copied = place + TENURE.len();
        }
    }
    replaced.push_str(&text[copied..]);
    Cow::Owned(replaced)
}

fn is_subcommand(word: &str) -> bool {
    static NAMES: OnceLock<Vec<String>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let command = super::Command::command();
        command.get_subcommands().map(|it| it.get_name().to_owned()).collect()
    });
    names.iter().any(|name| name == word)
}

/// Quotes a text for a POSIX shell. If the text needs no quotes, returns it unchanged.
pub(crate) fn quote_shell_word(text: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:,+=@%→".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

pub(crate) fn command_line_without(
    removed_options: &[&str],
    arguments: impl IntoIterator<Item = String>,
) -> String {
    let mut line = name().to_owned();
    let mut arguments = arguments.into_iter();
    while let Some(word) = arguments.next() {
        let option = word.split_once('=').map_or(word.as_str(), |(option, _)| option);
        if !removed_options.contains(&option) {
            line.push(' ');
            line.push_str(&quote_shell_word(&word));
        } else if option == word {
            // Skips the value of the option, which is the next word.
            arguments.next();
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_needed() {
        assert_eq!(quote_shell_word("graphs/my.dot"), "graphs/my.dot");
        assert_eq!(quote_shell_word("my graph.dot"), "'my graph.dot'");
        assert_eq!(quote_shell_word("it's"), r"'it'\''s'");
        assert_eq!(quote_shell_word("inside(P1) & inside(P2)"), "'inside(P1) & inside(P2)'");
    }

    #[test]
    fn options_are_left_out_with_their_values() {
        let without = |options: &[&str], line: &str| {
            command_line_without(options, line.split(' ').map(str::to_owned))
        };
        let line = "simulate lamport --shard 3/64 --sweep n=3..5 --threads=2 --raw a.csv --runs 9";
        let rest = "tenure simulate lamport --sweep n=3..5 --runs 9";
        assert_eq!(without(&["--shard", "--threads", "--raw"], line), rest);
        let line =
            "check central --trace a.ndjson -n 2 --format=json --lose 1 --trace=b --entries 2";
        let rest = "tenure check central -n 2 --lose 1 --entries 2";
        assert_eq!(without(&["--trace", "--format"], line), rest);
    }

    #[test]
    fn commands_in_text_use_program_name() {
        let text = "again: tenure simulate mine -n 3; `tenure list` lists tenures";
        assert_eq!(replace_name(text, TENURE), text);
        let own = "again: locks simulate mine -n 3; `locks list` lists tenures";
        assert_eq!(replace_name(text, "locks"), own);
        for (text, own) in [
            ("tenure compare a b, then tenure list", "locks compare a b, then locks list"),
            ("run `tenure choose`; tenure merge a", "run `locks choose`; locks merge a"),
            ("my-tenure check a", "my-tenure check a"),
            ("/opt/tenure check a", "/opt/tenure check a"),
            ("the tenure checks", "the tenure checks"),
        ] {
            assert_eq!(replace_name(text, "locks"), own);
        }
    }
}
