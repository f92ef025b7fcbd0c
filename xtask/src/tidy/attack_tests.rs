//! Check: the tests that `docs/attacks.md` and `docs/complaints.md` name exist.

use super::{Finding, RepositoryTree};

const PAGES: [&str; 2] = ["docs/attacks.md", "docs/complaints.md"];

pub(super) fn check(tree: &RepositoryTree) -> Vec<Finding> {
    PAGES.iter().flat_map(|page| missing_tests(tree, page)).collect()
}

fn missing_tests(tree: &RepositoryTree, path: &str) -> Vec<Finding> {
    let Some(page) = tree.file(path) else { return Vec::new() };
    let defined = |name: &str| {
        let of = format!("fn {name}(");
        tree.files().iter().any(|file| file.path.ends_with(".rs") && file.text.contains(&of))
    };
    let mut findings = Vec::new();
    for (line, text) in page.lines() {
        let names = text.split('`').skip(1).step_by(2).filter(|name| is_a_test(name));
        for name in names.filter(|name| !defined(name)) {
            let message = format!("test `{name}` does not exist");
            findings.push(Finding::new(path, line, message, "name the test that replaces it"));
        }
    }
    findings
}

/// Returns true if a name has at least two underscores, as the names of tests have.
fn is_a_test(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.chars().all(plain) && name.matches('_').count() >= 2
}

#[cfg(test)]
mod tests {
    use super::{PAGES, check};
    use crate::tidy::findings;

    const TABLE: &str =
        "| what | then |\n| all, `max_n` | `cluster_survives_attack`, `cargo test` |";

    #[test]
    fn finds_missing_test() {
        let test = ("tests/a.rs", "#[test]\nfn cluster_survives_attack() {}");
        assert_eq!(findings(check, &[test]), [""; 0]);
        for page in PAGES {
            assert_eq!(findings(check, &[(page, TABLE), test]), [""; 0]);
            let found = findings(check, &[(page, TABLE)]);
            assert_eq!(found.len(), 1);
            assert!(found[0].starts_with(&format!("{page}:2: test `cluster_survives")));
        }
    }
}
