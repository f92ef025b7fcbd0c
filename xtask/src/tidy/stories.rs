//! Every algorithm of the catalogue has the tests of its paper and a story of its own.

use super::{Finding, Tree};

const LIST: &str = "crates/algorithms/src/catalogue/members.rs";
const TESTS: &str = "crates/algorithms/tests/";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let Some(list) = tree.file(LIST) else { return findings };
    for (line, text) in list.lines() {
        let Some(name) = module(text) else { continue };
        let mut find = |says: String, fix: String| {
            findings.push(Finding::new(LIST, line, says, fix));
        };
        let paper = format!("{TESTS}paper/{name}.rs");
        if tree.file(&paper).is_none() {
            find(format!("`{name}` has no tests of its paper"), format!("write {paper}"));
        }
        let stories = format!("{TESTS}golden/{name}");
        // A folder of its own, or of a variant: `bully_without_terms`.
        let told = |path: &str| path.starts_with(&stories) && path.ends_with(".txt");
        if !tree.files().iter().any(|file| told(&file.path)) {
            find(format!("`{name}` has no story"), format!("tell one in {stories}"));
        }
    }
    findings
}

/// The module in `"token-ring" => TokenRing, token_ring;`.
fn module(line: &str) -> Option<&str> {
    let (_, member) = line.trim().strip_prefix('"')?.split_once("\" => ")?;
    let mut parts = member.trim_end_matches(';').split(", ");
    parts.nth(1)
}

#[cfg(test)]
mod tests {
    use super::{LIST, check};
    use crate::tidy::findings;

    const MEMBERS: &str = "members! {\n    \"token-ring\" => TokenRing, token_ring, alone;\n}";
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
