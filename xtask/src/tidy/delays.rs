//! Check: the table at the beginning of a lock's file states the same delays as the lock's card.

use super::{Finding, RepositoryTree};

const LOCKS: &str = "crates/algorithms/src/mutex/";

/// The two delays that the check compares. The first text of a pair is the beginning of the delay's
/// row in the table. The second text precedes the delay in the code of the card.
const ROWS: [(&str, &str); 2] = [
    ("//! | delay to enter, uncontended | ", "["),
    ("//! | delay from exit to the next entry | ", "],"),
];

pub(super) fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, _) in tree.rust_sources().filter(|(file, _)| file.path.starts_with(LOCKS)) {
        let Some((_, theory)) = file.text.split_once("theory: Some(ExpectedCosts::lock(") else {
            continue;
        };
        for (row, field) in ROWS {
            let message = theory.split_once(field).map_or("", |(_, rest)| words(rest.trim_start()));
            let head = file.text.lines().enumerate().find_map(|(line, text)| {
                let cell = text.strip_prefix(row)?;
                let hops = cell.split(" message").next().unwrap_or(cell);
                Some((line + 1, hops.replace(" to ", "…")))
            });
            let (line, head) = head.unwrap_or((1, String::new()));
            if head != message {
                findings.push(Finding::new(
                    &file.path,
                    line,
                    format!("the head states the delay `{head}`, but the card states `{message}`"),
                    "make the table and the field `theory` of the card agree",
                ));
            }
        }
    }
    findings
}

/// Converts a delay from the code of a card to the notation of the table in the lock's file. For
/// example, the result for `HopRange::ONE` is `1`. The delay is at the start of `field`.
fn words(field: &str) -> &str {
    let known = [
        ("HopRange::ONE", "1"),
        ("HopRange::TWO", "2"),
        ("HopRange::ring(", "1…N"),
        ("HopRange::tree(", "1…D"),
    ];
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
             theory: Some(ExpectedCosts::lock([\"{entry}\", \"1\", \"no\"], {delay}))"
        )
    }

    #[test]
    fn compares_delays_of_head_and_card() {
        let path = "crates/algorithms/src/mutex/raymond.rs";
        let found = |entry, delay| findings(check, &[(path, &file(entry, delay))]).len();
        assert_eq!(found("0…2D (0 at the root)", "HopRange::tree(config.tree.diameter())"), 0);
        assert_eq!(found("0…2D", "HopRange { formula: \"1…D\", least: 1, most: 2 }"), 0);
        assert_eq!(found("2", "HopRange::tree(4)"), 1);
        assert_eq!(found("2", "HopRange::ONE"), 2);
    }
}
