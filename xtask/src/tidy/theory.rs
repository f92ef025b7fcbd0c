//! The table at the head of a lock's file says of its delays what its card says.

use super::{Finding, Tree};

const LOCKS: &str = "crates/algorithms/src/mutex/";

/// The rows of a head that a card repeats, and where its words stand.
const ROWS: [(&str, &str); 2] = [
    ("//! | delay to enter, uncontended | ", "["),
    ("//! | delay from exit to the next entry | ", "],"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, _) in tree.sources().filter(|(file, _)| file.path.starts_with(LOCKS)) {
        let Some((_, theory)) = file.text.split_once("theory: Some(Theory::lock(") else {
            continue;
        };
        for (row, field) in ROWS {
            let says = theory.split_once(field).map_or("", |(_, rest)| words(rest.trim_start()));
            let head = file.text.lines().enumerate().find_map(|(line, text)| {
                let cell = text.strip_prefix(row)?;
                let hops = cell.split(" message").next().unwrap_or(cell);
                Some((line + 1, hops.replace(" to ", "…")))
            });
            let (line, head) = head.unwrap_or((1, String::new()));
            if head != says {
                findings.push(Finding::new(
                    &file.path,
                    line,
                    format!("the head says `{head}` of a delay, and the card `{says}`"),
                    "make the table at the head and `theory` of the card agree",
                ));
            }
        }
    }
    findings
}

/// The hops of a field of a card as people write them, without what is in brackets.
fn words(field: &str) -> &str {
    let known =
        [("Hops::ONE", "1"), ("Hops::TWO", "2"), ("Hops::ring(", "1…N"), ("Hops::tree(", "1…D")];
    match known.iter().find(|(name, _)| field.starts_with(name)) {
        Some((_, words)) => words,
        None => {
            let quoted = field.split('"').nth(1).unwrap_or_default();
            quoted.split(" (").next().unwrap_or(quoted)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::findings;

    fn file(entry: &str, delay: &str) -> String {
        format!(
            "//! | delay to enter, uncontended | 0 to 2D messages; more after a loss |\n\
             //! | delay from exit to the next entry | 1 to D messages |\n\
             theory: Some(Theory::lock([\"{entry}\", \"1\", \"no\"], {delay}))"
        )
    }

    #[test]
    fn a_head_that_says_what_the_card_says_passes_and_another_is_found() {
        let path = "crates/algorithms/src/mutex/raymond.rs";
        let found = |entry, delay| findings(check, &[(path, &file(entry, delay))]).len();
        assert_eq!(found("0…2D (0 at the root)", "Hops::tree(config.tree.diameter())"), 0);
        assert_eq!(found("0…2D", "Hops { words: \"1…D\", least: 1, most: 2 }"), 0);
        assert_eq!(found("2", "Hops::tree(4)"), 1);
        assert_eq!(found("2", "Hops::ONE"), 2);
    }
}
