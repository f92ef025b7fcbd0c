//! `cargo xtask docs`: the pages that are made from cards and measured runs.

mod algorithms;
mod command;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use command::Command;

/// Where the page lies, from the repository's root.
const PAGE: &str = "docs/algorithms.md";

/// Writes the page, or says whether it is what would be written.
///
/// Exit status 1 if it is not, or if a figure could not be had.
pub(crate) fn main(root: &Path, writes: bool) -> ExitCode {
    let made = match Command::new(root).and_then(|command| algorithms::page(&command)) {
        Ok(made) => made,
        Err(says) => {
            eprintln!("{says}");
            return ExitCode::FAILURE;
        }
    };
    let path = root.join(PAGE);
    let found = fs::read_to_string(&path).unwrap_or_default();
    if found == made {
        return ExitCode::SUCCESS;
    }
    if writes {
        return match fs::write(&path, made) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{PAGE}: {error}");
                ExitCode::FAILURE
            }
        };
    }
    let line = found.lines().zip(made.lines()).position(|(old, new)| old != new);
    let line = line.unwrap_or_else(|| found.lines().count().min(made.lines().count())) + 1;
    eprintln!("{PAGE}:{line}: the page is not what `cargo xtask docs` makes; run it and look");
    ExitCode::FAILURE
}
