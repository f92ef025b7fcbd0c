//! Every algorithm of the catalogue has the tests of its paper and a story of its own.

use super::catalogue::listed;
use super::{Finding, Tree};

const LISTS: [&str; 2] =
    ["crates/algorithms/src/mutex/mod.rs", "crates/algorithms/src/election/mod.rs"];
const TESTS: &str = "crates/algorithms/tests/";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for list in LISTS {
        for (line, name) in listed(tree, list) {
            let mut find = |says: String, fix: String| {
                findings.push(Finding::new(list, line, says, fix));
            };
            let paper = format!("{TESTS}paper/{name}.rs");
            if tree.file(&paper).is_none() {
                find(format!("`{name}` has no tests of its paper"), format!("write {paper}"));
            }
            let stories = format!("{TESTS}golden/{name}");
            // A folder of its own, or of a variant: `bully_no_terms`.
            let told = |path: &str| path.starts_with(&stories) && path.ends_with(".txt");
            if !tree.files().iter().any(|file| told(&file.path)) {
                find(format!("`{name}` has no story"), format!("tell one in {stories}"));
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
    const STORY: (&str, &str) = ("crates/algorithms/tests/golden/token_ring/lap.txt", "");

    #[test]
    fn an_algorithm_with_tests_and_a_story_passes() {
        assert_eq!(findings(check, &[(LIST, MEMBERS), PAPER, STORY]), [""; 0]);
        assert_eq!(findings(check, &[PAPER]), [""; 0]);
    }

    #[test]
    fn one_that_lacks_either_is_found_in_its_line() {
        let found = findings(check, &[(LIST, MEMBERS), PAPER]);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with(&format!("{LIST}:2: `token_ring` has no story")));
        assert_eq!(findings(check, &[(LIST, MEMBERS), STORY]).len(), 1);
        let other = ("crates/algorithms/tests/golden/ring/lap.txt", "");
        assert_eq!(findings(check, &[(LIST, MEMBERS), PAPER, other]).len(), 1);
    }
}
