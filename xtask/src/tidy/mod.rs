//! `cargo xtask tidy`: the laws of the architecture and the house rules, as a test.
//!
//! A check is a function from the [`Tree`] of the repository to its [`Finding`]s. It reads
//! nothing but the tree, so that its tests can show it a bad sample and see it fail. To add
//! one: a file here, a line in [`CHECKS`].

mod adr;
mod attributes;
mod catalogue;
mod claims;
mod documents;
mod figures;
mod imports;
mod laws;
mod lengths;
mod links;
mod places;
mod prose;
mod purity;
mod shown;
mod source;
mod stories;
mod theory;
mod tree;
mod words;

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

pub(crate) use links::{links, resolve};
pub(crate) use prose::lower as lower_prose_limits;
pub(crate) use tree::{File, Tree};

/// One check of the whole tree.
type Check = fn(&Tree) -> Vec<Finding>;

/// Every check, by the name that a finding shows.
const CHECKS: &[(&str, Check)] = &[
    ("laws", laws::check),
    ("purity", purity::check),
    ("lengths", lengths::check),
    ("words", words::check),
    ("attributes", attributes::check),
    ("catalogue", catalogue::check),
    ("claims", claims::check),
    ("figures", figures::check),
    ("stories", stories::check),
    ("shown", shown::check),
    ("theory", theory::check),
    ("imports", imports::check),
    ("documents", documents::check),
    ("adr", adr::check),
    ("links", links::check),
    ("places", places::check),
    ("prose", prose::check),
];

/// Something that breaks a rule, and how to mend it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    says: String,
    fix: String,
}

impl Finding {
    /// A finding in line `line` of `path`, counted from 1.
    pub(crate) fn new(
        path: &str,
        line: usize,
        says: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Finding { path: path.to_owned(), line, says: says.into(), fix: fix.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; {}", self.path, self.line, self.says, self.fix)
    }
}

/// Checks the repository at `root`; exit status 1 if anything is found.
pub(crate) fn main(root: &Path) -> ExitCode {
    let tree = match Tree::read(root) {
        Ok(tree) => tree,
        Err(error) => {
            eprintln!("tidy: the repository cannot be read: {error}");
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
        println!("tidy: {} checks, {} files, nothing found", CHECKS.len(), tree.files().len());
        ExitCode::SUCCESS
    } else {
        println!("tidy: {found} found");
        ExitCode::FAILURE
    }
}

/// For tests: what a check finds in a sample, one line each.
#[cfg(test)]
fn findings(check: Check, sample: &[(&str, &str)]) -> Vec<String> {
    let mut findings = check(&Tree::sample(sample));
    findings.sort();
    findings.iter().map(Finding::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::Finding;

    #[test]
    fn a_finding_says_where_what_and_how_to_mend_it() {
        let finding = Finding::new("src/a.rs", 7, "the line has 101 characters", "break it");
        assert_eq!(finding.to_string(), "src/a.rs:7: the line has 101 characters; break it");
    }
}
