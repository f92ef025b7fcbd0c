//! What a line of the checklist gives as a number, a test that claims it knows.

use std::collections::BTreeMap;

use super::claims::{LIST, claims};
use super::{File, Finding, Tree};

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    for (file, source) in tree.sources() {
        for claim in claims(file, source) {
            known.entry(claim.name).or_default().push_str(&body(file, claim.line));
        }
    }
    let mut findings = Vec::new();
    for (line, text) in tree.file(LIST).into_iter().flat_map(File::lines) {
        let row = text.strip_prefix("| `").and_then(|row| row.split_once("` |"));
        let Some((name, says)) = row else { continue };
        let Some(tests) = known.get(name) else { continue };
        let missing = numbers(says).into_iter().filter(|number| !knows(tests, number));
        findings.extend(missing.map(|number| {
            let says = format!("`{name}` says {number}, which no test knows that claims it");
            Finding::new(LIST, line, says, "assert it there, or mend the line")
        }));
    }
    findings
}

/// The lines from a claim to the end of its function.
fn body(file: &File, claim: usize) -> String {
    let mut lines = file.text.lines().skip(claim - 1).peekable();
    let first = lines.peek().copied().unwrap_or_default();
    let indent = &first[..first.len() - first.trim_start().len()];
    let is_last = |line: &&str| {
        let rest = line.strip_prefix(indent).unwrap_or_default();
        rest == "}" || rest.contains("fn ") && rest.ends_with('}')
    };
    let mut text = String::new();
    for line in lines {
        text.push_str(line);
        text.push('\n');
        if is_last(&line) {
            break;
        }
    }
    text
}

/// The numbers of a line that stand alone, and not in a formula.
fn numbers(says: &str) -> Vec<&str> {
    let words: Vec<&str> = says.split_whitespace().collect();
    let is_sign = |place: Option<usize>| {
        let word = place.and_then(|place| words.get(place));
        word.is_some_and(|it| ["−", "+", "·", "="].contains(it))
    };
    let alone = |place: &usize| !is_sign(Some(place + 1)) && !is_sign(place.checked_sub(1));
    let bare = |place: usize| {
        words[place].trim_start_matches('(').trim_end_matches([')', ',', ';', '.', ':'])
    };
    let is_number =
        |it: &&str| it.starts_with(|c: char| c.is_ascii_digit()) && it.parse::<f64>().is_ok();
    (0..words.len()).filter(alone).map(bare).filter(is_number).collect()
}

/// Whether a number stands in the text of a test, perhaps with its thousands apart.
fn knows(tests: &str, number: &str) -> bool {
    let plain = tests.replace('_', "");
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    plain.split(|c: char| !is_part(c)).any(|it| it.trim_end_matches('.') == number)
}

#[cfg(test)]
mod tests {
    use super::{LIST, check, numbers};
    use crate::tidy::findings;

    #[test]
    fn a_number_that_no_claiming_test_knows_is_found() {
        let list = "| `W-05` | three messages in 5 steps, N − 1 more |\n";
        let found = |test: &str| findings(check, &[(LIST, list), ("crates/a/tests/b.rs", test)]);
        let claim = "#[claims(\"W-05\")]\n#[test]\nfn a() {\n    violated(5);\n}\n";
        assert_eq!(found(claim), [""; 0]);
        let wrong = found(&claim.replace('5', "4").replace("W-04", "W-05"));
        assert_eq!(wrong.len(), 1);
        assert!(wrong[0].contains("`W-05` says 5, which no test knows"), "{wrong:?}");
        // What stands behind its end is another's.
        let other = claim.replace("violated(5);", "") + "fn b() {\n    5;\n}\n";
        assert_eq!(found(&other).len(), 1);
    }

    #[test]
    fn numbers_of_formulas_and_names_are_none() {
        assert_eq!(numbers(" P2 at 15; (14), 3(N − 1) and N + 2, 82.93 "), ["15", "14", "82.93"]);
        assert_eq!(numbers(" Clocks at 3:00 meet 2^k "), [""; 0]);
    }
}
