//! `cargo xtask book`: runs the commands in the book and the other documents.
//!
//! A code block marked `console` contains commands and their output:
//!
//! - `$ command` starts a command. A final `\` continues it on the next line.
//! - A final comment, such as `# exit 1`, states the expected exit status. The default is 0.
//! - The lines below a command are its standard output and standard error. A line `…` matches any
//!   lines. A `…` within a line matches any text, such as seconds or memory.
//!
//! The commands of a page run in sequence, in a new empty directory. There, `tenure` is the release
//! build. Commands that begin with `cargo` run in the repository. With `--built target/debug`, they
//! take the programs that `cargo test` has built instead of building them again. Pages run in
//! parallel, one per core.

mod compare;
mod page;
mod shell;
mod structure;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use crate::parallel::parallel_map;
use crate::program;
use crate::tidy::{RepositoryFile, RepositoryTree};
use page::{BookPage, PageCommand};
use shell::Shell;

const BOOK: &str = "docs/book/src/";

#[derive(Debug, Default)]
struct Options {
    is_check: bool,
    tenure: Option<PathBuf>,
    /// Directory with programs that were built before. If `None`, `cargo run` builds the programs.
    built: Option<PathBuf>,
    /// Parts of paths that select the pages to run; empty for all pages.
    pages: Vec<String>,
}

impl Options {
    fn new(arguments: &[&str]) -> Option<Options> {
        let mut options = Options::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match *argument {
                "--check" => options.is_check = true,
                "--tenure" => options.tenure = Some(PathBuf::from(rest.next()?)),
                "--built" => options.built = Some(std::path::absolute(rest.next()?).ok()?),
                page if !page.starts_with('-') => options.pages.push(page.to_owned()),
                _ => return None,
            }
        }
        Some(options)
    }

    fn selects(&self, path: &str) -> bool {
        self.pages.is_empty() || self.pages.iter().any(|part| path.contains(part))
    }
}

/// Runs the commands in the selected pages. With `--check`, reports the outputs that differ from
/// the pages. Without it, writes the outputs into the pages.
///
/// Exits with status 1 if a command cannot run or ends with an unexpected exit status, or if the
/// book is inconsistent. With `--check`, also exits with status 1 if an output differs. Exits with
/// status 2 if an argument is invalid.
pub(crate) fn main(root: &Path, arguments: &[&str]) -> ExitCode {
    let Some(options) = Options::new(arguments) else {
        eprintln!(
            "usage: cargo xtask book [--check] [--tenure FILE] [--built DIR] [PART-OF-A-PATH …]"
        );
        return ExitCode::from(2);
    };
    match run(root, &options) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(found) => {
            eprintln!("book: {found} findings");
            ExitCode::FAILURE
        }
        Err(message) => {
            eprintln!("book: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(root: &Path, options: &Options) -> Result<usize, String> {
    let tree = RepositoryTree::read(root)
        .map_err(|error| format!("cannot read the repository: {error}"))?;
    let findings = structure::check(&tree);
    for finding in &findings {
        eprintln!("{finding}");
    }
    let tenure = match &options.tenure {
        Some(path) => path.clone(),
        None => program::build_tenure(root)?,
    };
    let pages = tree.files().iter().filter(|file| has_commands(&file.path));
    let pages: Vec<&RepositoryFile> = pages.filter(|file| options.selects(&file.path)).collect();
    let counts = parallel_map(&pages, |file| run_page(root, file, &tenure, options));
    let found: Result<usize, String> = counts.into_iter().sum();
    Ok(findings.len() + found?)
}

/// Runs the commands of a file, and returns the number of mismatches: unexpected exit statuses and,
/// with `--check`, unexpected outputs.
fn run_page(
    root: &Path,
    file: &RepositoryFile,
    tenure: &Path,
    options: &Options,
) -> Result<usize, String> {
    let mut page = BookPage::new(&file.path, &file.text)?;
    if page.commands.is_empty() {
        return Ok(0);
    }
    let began = Instant::now();
    let shell = Shell::new(root, tenure, options.built.as_deref())?;
    let mismatches = run_commands(&mut page, &shell, options.is_check)?;
    let (count, seconds) = (page.commands.len(), began.elapsed().as_secs_f64());
    eprint!("{}", mismatches.concat());
    println!("{}: {count} commands, {seconds:.1} s", file.path);
    let text = page.text();
    if !options.is_check && text != file.text {
        std::fs::write(root.join(&file.path), text)
            .map_err(|error| format!("{}: {error}", file.path))?;
    }
    Ok(mismatches.len())
}

/// Returns true if `cargo xtask book` runs the commands in the file at `path`. This holds for the
/// pages of the book, the README, and the documents in `docs`.
fn has_commands(path: &str) -> bool {
    let document = |path: &str| path.ends_with(".md") && !path.contains('/');
    path == "README.md"
        || path.strip_prefix(BOOK).is_some_and(document)
        || path.strip_prefix("docs/").is_some_and(document)
}

/// Runs the commands of a page and returns a description of each mismatch. If `is_check` is false,
/// updates the output in the page.
fn run_commands(
    page: &mut BookPage,
    shell: &Shell<'_>,
    is_check: bool,
) -> Result<Vec<String>, String> {
    let mut mismatches = Vec::new();
    let mut outputs = Vec::new();
    for command in &page.commands {
        let output = shell.run(&command.text).map_err(|error| format!("{}: {error}", page.path))?;
        if output.status != command.status {
            mismatches.push(status_mismatch(page, command, &output));
        } else if is_check && !compare::is_match(page.expected_output(command), &output.lines) {
            mismatches.push(output_mismatch(page, command, &output.lines));
        }
        outputs.push(output.lines);
    }
    if !is_check {
        page.replace_outputs(&outputs);
    }
    Ok(mismatches)
}

fn status_mismatch(
    page: &BookPage,
    command: &PageCommand,
    output: &shell::CommandOutput,
) -> String {
    let BookPage { path, .. } = page;
    let PageCommand { line, text, status, .. } = command;
    let mut message = format!(
        "{path}:{line}: `{text}` ended with status {}, expected {status}:\n",
        output.status
    );
    for line in &output.lines {
        message += &format!("    {line}\n");
    }
    message + &format!("  if this is intended, add `# exit {}` to the command\n", output.status)
}

fn output_mismatch(page: &BookPage, command: &PageCommand, found: &[String]) -> String {
    let BookPage { path, .. } = page;
    let PageCommand { line, text, .. } = command;
    let mut message = format!("{path}:{line}: `{text}` printed different output:\n");
    for difference in compare::differences(page.expected_output(command), found) {
        message += &match difference {
            compare::Difference::Missing(at, text) => {
                format!("  {path}:{}: - {text}\n", command.output.start + at + 1)
            }
            compare::Difference::Extra(text) => format!("  {path}: + {text}\n"),
        };
    }
    message
        + &format!(
            "  if this is intended, run `cargo xtask book {path}` and review the difference\n"
        )
}

#[cfg(test)]
mod tests {
    use super::page::BookPage;
    use super::shell::Shell;
    use super::{Options, has_commands, run_commands};

    /// Runs the commands of a page. Returns the number of mismatches, and the updated text.
    fn outcome(text: &str) -> (usize, String) {
        let path = std::path::Path::new("tenure");
        let mut page = BookPage::new("docs/book/src/a.md", text).unwrap();
        let shell = Shell::new(std::path::Path::new("."), path, None).unwrap();
        let found = run_commands(&mut page, &shell, true).unwrap().len();
        let shell = Shell::new(std::path::Path::new("."), path, None).unwrap();
        run_commands(&mut page, &shell, false).unwrap();
        (found, page.text())
    }

    #[test]
    fn correct_page_passes_unchanged() {
        let text = "# A\n```console\n$ echo 4 messages > a\n$ cat a\n4 messages\n```\nprose\n";
        assert_eq!(outcome(text), (0, text.to_owned()));
    }

    #[test]
    fn finds_and_updates_changed_figure() {
        let page =
            |figure: &str| format!("```console\n$ printf 'a\\n4 of 9\\n'\na\n{figure}\n```\n");
        assert_eq!(outcome(&page("5 of 9")), (1, page("4 of 9")));
        assert_eq!(outcome(&page("4 of …")), (0, page("4 of …")));
        assert_eq!(outcome(&page("5 of …")), (1, page("4 of …")));
    }

    #[test]
    fn finds_unexpected_exit_status() {
        assert_eq!(outcome("```console\n$ exit 3\n```\n").0, 1);
        assert_eq!(outcome("```console\n$ exit 3 # exit 3\n```\n").0, 0);
        assert_eq!(outcome("```console\n$ true # exit 3\n```\n").0, 1);
    }

    #[test]
    fn runs_book_readme_and_documents() {
        for path in ["README.md", "docs/trace.md", "docs/book/src/03_a.md"] {
            assert!(has_commands(path), "{path}");
        }
        for path in ["CHANGELOG.md", "docs/adr/0001.md", "docs/book/src/pictures/a.svg"] {
            assert!(!has_commands(path), "{path}");
        }
    }

    #[test]
    fn selects_pages_and_rejects_unknown_options() {
        let options = Options::new(&["--check", "03_", "--tenure", "a/tenure"]).unwrap();
        assert!(
            options.is_check
                && options.selects("docs/book/src/03_a.md")
                && !options.selects("README.md")
        );
        assert!(Options::new(&["--chekc"]).is_none() && Options::new(&["--tenure"]).is_none());
    }
}
