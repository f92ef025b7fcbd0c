//! The tests of which `docs/attacks.md` says that they show something are there.

use super::{Finding, Tree};

const PAGE: &str = "docs/attacks.md";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.file(PAGE) else { return Vec::new() };
    let defined = |name: &str| {
        let of = format!("fn {name}(");
        tree.files().iter().any(|file| file.path.ends_with(".rs") && file.text.contains(&of))
    };
    let mut findings = Vec::new();
    for (line, text) in page.lines() {
        let names = text.split('`').skip(1).step_by(2).filter(|name| is_a_test(name));
        for name in names.filter(|name| !defined(name)) {
            let says = format!("there is no test `{name}`");
            findings.push(Finding::new(PAGE, line, says, "name the one that shows it now"));
        }
    }
    findings
}

/// Names of tests are sentences.
fn is_a_test(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.chars().all(plain) && name.matches('_').count() >= 2
}

#[cfg(test)]
mod tests {
    use super::{PAGE, check};
    use crate::tidy::findings;

    const TABLE: &str = "| what | then |\n| all, `max_n` | `nobody_is_hurt_here`, `cargo test` |";

    #[test]
    fn a_test_that_is_there_is_none_and_one_that_is_not_is_found_in_its_line() {
        let test = ("tests/a.rs", "#[test]\nfn nobody_is_hurt_here() {}");
        assert_eq!(findings(check, &[(PAGE, TABLE), test]), [""; 0]);
        assert_eq!(findings(check, &[test]), [""; 0]);
        let found = findings(check, &[(PAGE, TABLE)]);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with(&format!("{PAGE}:2: there is no test `nobody_is_hurt")));
    }
}
