//! `cargo xtask docs`: the pages that are made from cards and measured runs.

mod algorithms;
mod command;
mod mission;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use command::Command;

/// Where the pages lie, from the repository's root, and how each is made.
const PAGES: [(&str, Make); 2] =
    [("docs/mission.md", mission::page), ("docs/algorithms.md", |_, it| algorithms::page(it))];

type Make = fn(&Path, &Command) -> Result<String, String>;

/// What is wanted.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wish {
    checks: bool,
    /// A command that is built already.
    tenure: Option<PathBuf>,
    /// Only pages whose path contains this.
    part: Option<String>,
}

impl Wish {
    fn new(words: &[&str]) -> Option<Wish> {
        let mut wish = Wish::default();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            match *word {
                "--check" => wish.checks = true,
                "--tenure" => wish.tenure = Some(PathBuf::from(rest.next()?)),
                part if !part.starts_with('-') => wish.part = Some(part.to_owned()),
                _ => return None,
            }
        }
        Some(wish)
    }
}

/// Writes the pages, or says whether they are what would be written.
///
/// Exit status 1 if one is not, or if a figure could not be had.
pub(crate) fn main(root: &Path, words: &[&str]) -> ExitCode {
    let Some(wish) = Wish::new(words) else {
        eprintln!("usage: cargo xtask docs [--check] [--tenure FILE] [PART-OF-A-PATH]");
        return ExitCode::from(2);
    };
    let command = match &wish.tenure {
        Some(program) => Ok(Command::of(program.clone())),
        None => Command::new(root),
    };
    let made = command.and_then(|command| {
        let wanted = |page: &str| wish.part.as_ref().is_none_or(|part| page.contains(part));
        let pages = PAGES.into_iter().filter(|(page, _)| wanted(page));
        // A page that is stale does not keep the next from being made.
        let made = pages.map(|(page, make)| settle(root, page, &make(root, &command)?, &wish));
        made.fold(Ok(()), Result::and)
    });
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(says) => {
            eprintln!("{says}");
            ExitCode::FAILURE
        }
    }
}

/// Writes a page, or says where it is not what would be written.
fn settle(root: &Path, page: &str, made: &str, wish: &Wish) -> Result<(), String> {
    let path = root.join(page);
    let found = fs::read_to_string(&path).unwrap_or_default();
    if found == made {
        return Ok(());
    }
    if !wish.checks {
        return fs::write(&path, made).map_err(|error| format!("{page}: {error}"));
    }
    let line = found.lines().zip(made.lines()).position(|(old, new)| old != new);
    let line = line.unwrap_or_else(|| found.lines().count().min(made.lines().count())) + 1;
    Err(format!("{page}:{line}: the page is not what `cargo xtask docs` makes; run it and look"))
}

#[cfg(test)]
mod tests {
    use super::Wish;
    use std::path::PathBuf;

    #[test]
    fn pages_are_wanted_by_a_part_of_their_path() {
        let wish = Wish::new(&["--check", "mission", "--tenure", "a/tenure"]).unwrap();
        let (tenure, part) = (Some(PathBuf::from("a/tenure")), Some("mission".to_owned()));
        assert_eq!(wish, Wish { checks: true, tenure, part });
        assert!(Wish::new(&["--chekc"]).is_none() && Wish::new(&["--tenure"]).is_none());
    }
}
