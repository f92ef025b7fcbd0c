//! The name under which this program is called.
//!
//! A program that brings algorithms of its own has a name of its own, and what the command tells
//! people to type begins with it: nobody has the algorithm under `tenure`.

use std::borrow::Cow;
use std::path::Path;
use std::sync::OnceLock;

/// The name of the command itself.
const TENURE: &str = "tenure";

static NAME: OnceLock<String> = OnceLock::new();

/// From now on the program is called as it was started, if it is one of its own.
pub(crate) fn is_called(is_own: bool) {
    let started = std::env::args_os().next();
    let file = started.as_deref().and_then(|path| Path::new(path).file_stem());
    let own = file.map(|name| name.to_string_lossy().into_owned()).filter(|_| is_own);
    // Whoever says it twice says the same.
    let _ = NAME.set(own.unwrap_or_else(|| TENURE.to_owned()));
}

/// The name of this program.
pub(crate) fn name() -> &'static str {
    NAME.get().map_or(TENURE, String::as_str)
}

/// A text in which the commands to type are those of this program.
pub(crate) fn with_own_name(text: &str) -> Cow<'_, str> {
    called(text, name())
}

/// What is typed stands between backticks, or its first word is a subcommand.
fn called<'t>(text: &'t str, name: &str) -> Cow<'t, str> {
    if name == TENURE {
        return Cow::Borrowed(text);
    }
    let mut text = text.replace("`tenure ", &format!("`{name} "));
    for subcommand in ["run", "check", "simulate", "list", "trace", "lab", "node"] {
        text = text.replace(&format!("tenure {subcommand} "), &format!("{name} {subcommand} "));
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_be_typed_begins_with_the_name_of_the_program() {
        let says = "again: tenure simulate mine -n 3; `tenure list` lists tenures";
        assert_eq!(called(says, TENURE), says);
        let own = "again: locks simulate mine -n 3; `locks list` lists tenures";
        assert_eq!(called(says, "locks"), own);
    }
}
