//! `cargo xtask book`: runs the commands of the book and of the other documents.
//!
//! A block that begins with three backquotes and `console` holds commands and what they print:
//!
//! - `$ command` begins a command; a line that ends with `\` goes on in the next one.
//! - A comment `# exit 1` at its end says with which status it ends, where that is not 0.
//! - What follows is what it prints, on standard output and standard error. A line `…` stands
//!   for any lines, `…` within a line for any text: seconds, memory, whatever a real run draws.
//! - The commands of one page run one after the other, in an empty folder of their own, where
//!   `tenure` is the release build. Those that begin with `cargo` run in the repository, where
//!   `--built target/debug` takes what `cargo test` has built, and builds nothing again. There are
//!   as many pages at a time as the machine has cores.

mod compare;
mod page;
mod shell;
mod structure;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use crate::hands::on_each;
use crate::program;
use crate::tidy::{File, Tree};
use page::{Command, Page};
use shell::Shell;

/// Where the pages of the book lie, from the repository's root.
const BOOK: &str = "docs/book/src/";

/// What was asked for.
#[derive(Debug, Default)]
struct Wish {
    checks: bool,
    tenure: Option<PathBuf>,
    /// Where the programs are that `cargo run` would build.
    built: Option<PathBuf>,
    /// Parts of the paths of the pages to run; none means all.
    pages: Vec<String>,
}

impl Wish {
    fn new(arguments: &[&str]) -> Option<Wish> {
        let mut wish = Wish::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match *argument {
                "--check" => wish.checks = true,
                "--tenure" => wish.tenure = Some(PathBuf::from(rest.next()?)),
                "--built" => wish.built = Some(std::path::absolute(rest.next()?).ok()?),
                page if !page.starts_with('-') => wish.pages.push(page.to_owned()),
                _ => return None,
            }
        }
        Some(wish)
    }

    fn names(&self, path: &str) -> bool {
        self.pages.is_empty() || self.pages.iter().any(|part| path.contains(part))
    }
}

/// Runs all commands and writes what they print into the pages, or says where it differs.
///
/// Exit status 1 if it differs, if the book does not hold together, or if nothing could be run;
/// 2 if the arguments make no sense.
pub(crate) fn main(root: &Path, arguments: &[&str]) -> ExitCode {
    let Some(wish) = Wish::new(arguments) else {
        eprintln!(
            "usage: cargo xtask book [--check] [--tenure FILE] [--built DIR] [PART-OF-A-PATH …]"
        );
        return ExitCode::from(2);
    };
    match run(root, &wish) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(found) => {
            eprintln!("book: {found} found");
            ExitCode::FAILURE
        }
        Err(says) => {
            eprintln!("book: {says}");
            ExitCode::FAILURE
        }
    }
}

fn run(root: &Path, wish: &Wish) -> Result<usize, String> {
    let tree = Tree::read(root).map_err(|error| format!("cannot read the repository: {error}"))?;
    let findings = structure::check(&tree);
    for finding in &findings {
        eprintln!("{finding}");
    }
    let tenure = match &wish.tenure {
        Some(path) => path.clone(),
        None => program::build(root)?,
    };
    let pages = tree.files().iter().filter(|file| holds_commands(&file.path));
    let pages: Vec<&File> = pages.filter(|file| wish.names(&file.path)).collect();
    let turned = on_each(&pages, |file| turn(root, file, &tenure, wish));
    let found: Result<usize, String> = turned.into_iter().sum();
    Ok(findings.len() + found?)
}

/// Runs the commands of a file, and says at its end what was found there.
fn turn(root: &Path, file: &File, tenure: &Path, wish: &Wish) -> Result<usize, String> {
    let mut page = Page::new(&file.path, &file.text)?;
    if page.commands.is_empty() {
        return Ok(0);
    }
    let began = Instant::now();
    let shell = Shell::new(root, tenure, wish.built.as_deref())?;
    let complaints = follow(&mut page, &shell, wish.checks)?;
    let (count, seconds) = (page.commands.len(), began.elapsed().as_secs_f64());
    eprint!("{}", complaints.concat());
    println!("{}: {count} commands, {seconds:.1} s", file.path);
    let text = page.text();
    if !wish.checks && text != file.text {
        std::fs::write(root.join(&file.path), text)
            .map_err(|error| format!("{}: {error}", file.path))?;
    }
    Ok(complaints.len())
}

/// Whether the commands in a file are run: the book, the front page, the documents beside it.
fn holds_commands(path: &str) -> bool {
    let document = |path: &str| path.ends_with(".md") && !path.contains('/');
    path == "README.md"
        || path.strip_prefix(BOOK).is_some_and(document)
        || path.strip_prefix("docs/").is_some_and(document)
}

/// Runs the commands of a page, and renews what they print unless it is only to be checked.
/// Says what is not as the page tells.
fn follow(page: &mut Page, shell: &Shell<'_>, checks: bool) -> Result<Vec<String>, String> {
    let mut complaints = Vec::new();
    let mut outputs = Vec::new();
    for command in &page.commands {
        let said = shell.run(&command.text).map_err(|error| format!("{}: {error}", page.path))?;
        if said.status != command.status {
            complaints.push(of_status(page, command, &said));
        } else if checks && !compare::same(page.output(command), &said.lines) {
            complaints.push(of_output(page, command, &said.lines));
        }
        outputs.push(said.lines);
    }
    if !checks {
        page.renew(&outputs);
    }
    Ok(complaints)
}

fn of_status(page: &Page, command: &Command, said: &shell::Said) -> String {
    let Page { path, .. } = page;
    let Command { line, text, status, .. } = command;
    let mut says =
        format!("{path}:{line}: `{text}` ended with status {}, not {status}:\n", said.status);
    for line in &said.lines {
        says += &format!("    {line}\n");
    }
    says + &format!("  if that is right, write `# exit {}` behind the command\n", said.status)
}

fn of_output(page: &Page, command: &Command, found: &[String]) -> String {
    let Page { path, .. } = page;
    let Command { line, text, .. } = command;
    let mut says = format!("{path}:{line}: `{text}` prints something else:\n");
    for difference in compare::differences(page.output(command), found) {
        says += &match difference {
            compare::Difference::Missing(at, text) => {
                format!("  {path}:{}: - {text}\n", command.output.start + at + 1)
            }
            compare::Difference::Extra(text) => format!("  {path}: + {text}\n"),
        };
    }
    says + &format!("  if that is right, run `cargo xtask book {path}` and read the difference\n")
}

#[cfg(test)]
mod tests {
    use super::page::Page;
    use super::shell::Shell;
    use super::{Wish, follow, holds_commands};

    /// How many differences a page has, and the page after it was renewed.
    fn outcome(text: &str) -> (usize, String) {
        let path = std::path::Path::new("tenure");
        let mut page = Page::new("docs/book/src/a.md", text).unwrap();
        let shell = Shell::new(std::path::Path::new("."), path, None).unwrap();
        let found = follow(&mut page, &shell, true).unwrap().len();
        let shell = Shell::new(std::path::Path::new("."), path, None).unwrap();
        follow(&mut page, &shell, false).unwrap();
        (found, page.text())
    }

    #[test]
    fn a_page_that_tells_the_truth_passes_and_stays_as_it_is() {
        let text = "# A\n```console\n$ echo 4 messages > a\n$ cat a\n4 messages\n```\nprose\n";
        assert_eq!(outcome(text), (0, text.to_owned()));
    }

    #[test]
    fn a_changed_figure_is_found_and_renewed() {
        let page =
            |figure: &str| format!("```console\n$ printf 'a\\n4 of 9\\n'\na\n{figure}\n```\n");
        assert_eq!(outcome(&page("5 of 9")), (1, page("4 of 9")));
        assert_eq!(outcome(&page("4 of …")), (0, page("4 of …")));
        assert_eq!(outcome(&page("5 of …")), (1, page("4 of …")));
    }

    #[test]
    fn a_status_that_is_not_stated_is_found() {
        assert_eq!(outcome("```console\n$ exit 3\n```\n").0, 1);
        assert_eq!(outcome("```console\n$ exit 3 # exit 3\n```\n").0, 0);
        assert_eq!(outcome("```console\n$ true # exit 3\n```\n").0, 1);
    }

    #[test]
    fn the_book_the_front_page_and_the_documents_are_run() {
        for path in ["README.md", "docs/trace.md", "docs/book/src/03_a.md"] {
            assert!(holds_commands(path), "{path}");
        }
        for path in ["CHANGELOG.md", "docs/adr/0001.md", "docs/book/src/pictures/a.svg"] {
            assert!(!holds_commands(path), "{path}");
        }
    }

    #[test]
    fn words_choose_pages_and_an_unknown_option_is_refused() {
        let wish = Wish::new(&["--check", "03_", "--tenure", "a/tenure"]).unwrap();
        assert!(wish.checks && wish.names("docs/book/src/03_a.md") && !wish.names("README.md"));
        assert!(Wish::new(&["--chekc"]).is_none() && Wish::new(&["--tenure"]).is_none());
    }
}
