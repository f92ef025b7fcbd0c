//! `cargo xtask tidy`: checks of the architecture and the house rules.
//!
//! A check is a function from the [`RepositoryTree`] of the repository to its [`Finding`]s. A check
//! reads only the tree, so tests can pass a sample to it. To add a check, add a file here and a
//! line in [`CHECKS`].

mod abbreviations;
mod adr;
mod attack_tests;
mod catalogue;
mod delays;
mod dependencies;
mod documents;
mod imports;
mod lengths;
mod links;
mod paper_tests;
mod portability;
mod prose;
mod purity;
mod source;
mod tree;

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

pub(crate) use links::{link_targets, resolve_path};
pub(crate) use prose::lower_prose_limits;
pub(crate) use tree::{RepositoryFile, RepositoryTree};

type Check = fn(&RepositoryTree) -> Vec<Finding>;

/// All checks, each with the name that its findings show.
const CHECKS: &[(&str, Check)] = &[
    ("dependencies", dependencies::check),
    ("purity", purity::check),
    ("lengths", lengths::check),
    ("abbreviations", abbreviations::check),
    ("catalogue", catalogue::check),
    ("paper_tests", paper_tests::check),
    ("attack_tests", attack_tests::check),
    ("delays", delays::check),
    ("imports", imports::check),
    ("documents", documents::check),
    ("adr", adr::check),
    ("links", links::check),
    ("portability", portability::check),
    ("prose", prose::check),
];

/// A violation of a rule, with advice on how to remove it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    message: String,
    fix: String,
}

impl Finding {
    /// Creates a finding for a line of the file `path`. Lines are counted from 1.
    pub(crate) fn new(
        path: &str,
        line: usize,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Finding { path: path.to_owned(), line, message: message.into(), fix: fix.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; {}", self.path, self.line, self.message, self.fix)
    }
}

/// Checks the repository at `root`. Exits with status 1 if there are findings.
pub(crate) fn main(root: &Path) -> ExitCode {
    let tree = match RepositoryTree::read(root) {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("tidy: cannot read the repository: {error}");
            return ExitCode::from(2);
        }
    };
    let mut found = 0;
    for (name, check) in CHECKS {
        let mut findings = check(&tree);
        findings.sort();
        for finding in &findings {
            println!("{finding} [{name}]");
        }
        found += findings.len();
    }
    if found == 0 {
        println!("tidy: {} checks, {} files, no findings", CHECKS.len(), tree.files().len());
        ExitCode::SUCCESS
    } else {
        println!("tidy: {found} findings");
        ExitCode::FAILURE
    }
}

/// Returns the findings of a check in these sample files, as text.
#[cfg(test)]
fn findings(check: Check, sample: &[(&str, &str)]) -> Vec<String> {
    let mut findings = check(&RepositoryTree::from_files(sample));
    findings.sort();
    findings.iter().map(Finding::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::Finding;

    #[test]
    fn formats_finding() {
        let finding = Finding::new("src/a.rs", 7, "the line has 101 characters", "break it");
        assert_eq!(finding.to_string(), "src/a.rs:7: the line has 101 characters; break it");
    }
}
