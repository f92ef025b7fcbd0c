//! `cargo xtask docs`: generates pages from the cards of algorithms and from measured runs.

mod algorithms;
mod checker_only;
mod command;
mod fault_matrix;
mod mission;
mod stabilization;

use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use command::TenureCommand;
use fault_matrix::RowSample;

/// Path of each generated page, with the function that generates it.
const PAGES: [(&str, PageGenerator); 2] = [
    ("docs/mission.md", |root, command, _| mission::page(root, command)),
    ("docs/algorithms.md", |_, command, sample| algorithms::page(command, sample)),
];

type PageGenerator = fn(&Path, &TenureCommand, Option<RowSample<'_>>) -> Result<String, String>;

#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    is_check: bool,
    /// The rows of slow tables that are checked. `None` for all rows. Only a run with `is_check`
    /// may have a sample.
    sample: Option<Sample>,
    /// Path of the program to use as `tenure`. `None` to build this program.
    tenure: Option<PathBuf>,
    /// Text that the path of a page must contain. Other pages are not generated. `None` for all
    /// pages.
    part: Option<String>,
}

/// Every `step`-th row of a table, from the row `first`, numbered from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sample {
    first: usize,
    step: NonZero<usize>,
}

impl Sample {
    /// Parses `J/K`: every K-th row, from row J, which is below K.
    fn parse(text: &str) -> Option<Sample> {
        let (first, step) = text.split_once('/')?;
        let sample = Sample { first: first.parse().ok()?, step: step.parse().ok()? };
        (sample.first < sample.step.get()).then_some(sample)
    }
}

impl Options {
    fn new(arguments: &[&str]) -> Option<Options> {
        let mut options = Options::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match *argument {
                "--check" => options.is_check = true,
                "--sample" => options.sample = Some(Sample::parse(rest.next()?)?),
                "--tenure" => options.tenure = Some(PathBuf::from(rest.next()?)),
                part if !part.starts_with('-') => options.part = Some(part.to_owned()),
                _ => return None,
            }
        }
        (options.is_check || options.sample.is_none()).then_some(options)
    }
}

/// Writes the pages or, with `--check`, checks that they are current.
///
/// Exits with status 1 if a page is out of date or a command failed.
pub(crate) fn main(root: &Path, arguments: &[&str]) -> ExitCode {
    let Some(options) = Options::new(arguments) else {
        eprintln!(
            "usage: cargo xtask docs [--check [--sample J/K]] [--tenure FILE] [PART-OF-A-PATH]"
        );
        return ExitCode::from(2);
    };
    let command = match &options.tenure {
        Some(program) => Ok(TenureCommand::from_program(program.clone())),
        None => TenureCommand::new(root),
    };
    let made = command.and_then(|command| {
        let is_selected = |page: &str| options.part.as_ref().is_none_or(|part| page.contains(part));
        let pages = PAGES.into_iter().filter(|(page, _)| is_selected(page));
        // If a page is out of date, the check continues with the remaining pages.
        let made = pages.map(|(page, make)| {
            let old = fs::read_to_string(root.join(page)).unwrap_or_default();
            let sample = options.sample.map(|Sample { first, step }| RowSample {
                page: &old,
                first,
                step: step.get(),
            });
            write_or_compare(root, page, &old, &make(root, &command, sample)?, &options)
        });
        let failures: Vec<String> = made.filter_map(Result::err).collect();
        if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
    });
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// Writes a generated page. With `--check`, writes nothing, and returns an error that names the
/// first line that differs.
fn write_or_compare(
    root: &Path,
    page: &str,
    old: &str,
    made: &str,
    options: &Options,
) -> Result<(), String> {
    if old == made {
        return Ok(());
    }
    if !options.is_check {
        return fs::write(root.join(page), made).map_err(|error| format!("{page}: {error}"));
    }
    let line = old.lines().zip(made.lines()).position(|(old, new)| old != new);
    let line = line.unwrap_or_else(|| old.lines().count().min(made.lines().count())) + 1;
    Err(format!(
        "{page}:{line}: the page is stale; run `cargo xtask docs` and review the difference"
    ))
}

#[cfg(test)]
mod tests {
    use super::Options;
    use std::path::PathBuf;

    #[test]
    fn selects_pages_by_part_of_path() {
        let options = Options::new(&["--check", "mission", "--tenure", "a/tenure"]).unwrap();
        let (tenure, part) = (Some(PathBuf::from("a/tenure")), Some("mission".to_owned()));
        assert_eq!(options, Options { is_check: true, sample: None, tenure, part });
        assert!(Options::new(&["--chekc"]).is_none() && Options::new(&["--tenure"]).is_none());
        for sample in ["0/0", "3/3", "3", "-1/3"] {
            assert!(Options::new(&["--check", "--sample", sample]).is_none(), "{sample}");
        }
        assert!(Options::new(&["--sample", "0/3"]).is_none());
    }
}
