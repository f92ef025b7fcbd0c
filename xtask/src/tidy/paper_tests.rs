//! Check: every algorithm of the catalogue has tests of its paper, and a golden run.

use super::catalogue::listed_modules;
use super::{Finding, RepositoryTree};

const LISTS: [&str; 2] =
    ["crates/algorithms/src/mutex/mod.rs", "crates/algorithms/src/election/mod.rs"];
const TESTS: &str = "crates/algorithms/tests/";

pub(super) fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for list in LISTS {
        for (line, name) in listed_modules(tree, list) {
            let mut find = |message: String, fix: String| {
                findings.push(Finding::new(list, line, message, fix));
            };
            let paper = format!("{TESTS}paper/{name}.rs");
            if tree.file(&paper).is_none() {
                find(format!("`{name}` has no tests of its paper"), format!("write {paper}"));
            }
            let golden = format!("{TESTS}golden/{name}");
            // The directory may belong to a variant, such as `bully_without_terms`.
            let is_golden = |path: &str| path.starts_with(&golden) && path.ends_with(".txt");
            if !tree.files().iter().any(|file| is_golden(&file.path)) {
                find(format!("`{name}` has no golden run"), format!("add one in {golden}"));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::findings;

    const LIST: &str = "crates/algorithms/src/mutex/mod.rs";
    const MEMBERS: &str = "members! {\n    \"token-ring\" => token_ring::TokenRing;\n}";
    const PAPER: (&str, &str) = ("crates/algorithms/tests/paper/token_ring.rs", "");
    const GOLDEN: (&str, &str) = ("crates/algorithms/tests/golden/token_ring/lap.txt", "");

    #[test]
    fn accepts_algorithm_with_tests_and_golden_run() {
        assert_eq!(findings(check, &[(LIST, MEMBERS), PAPER, GOLDEN]), [""; 0]);
        assert_eq!(findings(check, &[PAPER]), [""; 0]);
    }

    #[test]
    fn finds_missing_tests_or_golden_run() {
        let found = findings(check, &[(LIST, MEMBERS), PAPER]);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with(&format!("{LIST}:2: `token_ring` has no golden run")));
        assert_eq!(findings(check, &[(LIST, MEMBERS), GOLDEN]).len(), 1);
        let other = ("crates/algorithms/tests/golden/ring/lap.txt", "");
        assert_eq!(findings(check, &[(LIST, MEMBERS), PAPER, other]).len(), 1);
    }
}
