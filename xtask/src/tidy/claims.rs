//! Every line of the checklist is claimed by a test, and every claim is one of a line.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Source, attributes, line_of, words};
use super::{File, Finding, Tree};

/// What has to be shown, by name.
pub(super) const LIST: &str = "docs/checklist.md";
/// The section of the list whose lines nobody claims so far.
const LATER: &str = "## Not claimed yet";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let listed = list(tree, &mut findings);
    let mut claimed = BTreeSet::new();
    for (file, source) in tree.sources() {
        for claim in claims(file, source) {
            let mut find = |says: String, fix: &str| {
                findings.push(Finding::new(&file.path, claim.line, says, fix));
            };
            match &claim.by {
                By::Test => {}
                By::Ignored => find(
                    format!("`{}` is claimed by a test that is ignored", claim.name),
                    "claim it where it is always tested",
                ),
                By::Other => find(
                    format!("`{}` is claimed by something that is no test", claim.name),
                    "claim it with a `#[test]`",
                ),
            }
            match listed.get(claim.name.as_str()) {
                None => find(
                    format!("`{}` is claimed, but {LIST} has no such line", claim.name),
                    "add the line, or mend the name",
                ),
                Some(line) if line.later => find(
                    format!("`{}` is claimed, but {LIST} says that it is not yet", claim.name),
                    "move its line up",
                ),
                Some(_) => {}
            }
            if matches!(claim.by, By::Test) {
                claimed.insert(claim.name);
            }
        }
    }
    let unclaimed = listed.iter().filter(|(name, it)| !it.later && !claimed.contains(**name));
    findings.extend(unclaimed.map(|(name, it)| {
        let fix = "write the test, with `#[claims(…)]`";
        Finding::new(LIST, it.line, format!("no test claims `{name}`"), fix)
    }));
    findings
}

/// A line of the checklist.
struct Listed {
    line: usize,
    /// Whether it is among those that are not claimed yet.
    later: bool,
}

/// The lines of the checklist: rows of tables whose first cell is a name in backticks.
fn list<'a>(tree: &'a Tree, findings: &mut Vec<Finding>) -> BTreeMap<&'a str, Listed> {
    let mut listed = BTreeMap::new();
    let mut later = false;
    for (line, text) in tree.file(LIST).into_iter().flat_map(File::lines) {
        if text.starts_with('#') {
            later = text == LATER;
        }
        let Some((name, rest)) = text.strip_prefix("| `").and_then(|row| row.split_once("` |"))
        else {
            continue;
        };
        if rest.trim_matches([' ', '|']).is_empty() {
            let says = format!("`{name}` does not say what has to be shown");
            findings.push(Finding::new(LIST, line, says, "write it into the second cell"));
        }
        if listed.insert(name, Listed { line, later }).is_some() {
            let says = format!("`{name}` is listed twice");
            findings.push(Finding::new(LIST, line, says, "keep one of the lines"));
        }
    }
    listed
}

/// One name in the claim of an item.
pub(super) struct Claim {
    pub(super) name: String,
    /// Where the claim stands.
    pub(super) line: usize,
    by: By,
}

/// What an item is that claims something.
enum By {
    Test,
    Ignored,
    Other,
}

pub(super) fn claims(file: &File, source: &Source) -> Vec<Claim> {
    let code = &source.code;
    let mut found = Vec::new();
    for item in items(code) {
        let inside = |(open, close): &(usize, usize)| code[open + 1..*close].trim();
        let is_claim = |attribute: &&(usize, usize)| path(inside(attribute)).ends_with("claims");
        for (open, close) in item.iter().filter(is_claim) {
            let by = || match item.last() {
                Some((_, last)) if !is_function(&code[last + 1..]) => By::Other,
                _ if !item.iter().any(|it| is_test(inside(it))) => By::Other,
                _ if item.iter().any(|it| words(inside(it)).any(|it| it.word == "ignore")) => {
                    By::Ignored
                }
                _ => By::Test,
            };
            let line = line_of(code, *open);
            let names = names(&file.text, code, *open, *close);
            found.extend(names.into_iter().map(|name| Claim { name, line, by: by() }));
        }
    }
    found
}

/// The attributes of each item that has some, by their brackets.
fn items(code: &str) -> Vec<Vec<(usize, usize)>> {
    let mut items: Vec<Vec<(usize, usize)>> = Vec::new();
    for (open, close) in attributes(code) {
        // What is hidden is space, comments between attributes among it.
        let follows = |last: &(usize, usize)| {
            code.get(last.1 + 1..open).is_some_and(|between| between.trim() == "#")
        };
        match items.last_mut().filter(|item| item.last().is_some_and(follows)) {
            Some(item) => item.push((open, close)),
            None => items.push(vec![(open, close)]),
        }
    }
    items
}

/// The path of an attribute, such as `tokio::test`.
fn path(attribute: &str) -> &str {
    attribute.split(['(', '=']).next().unwrap_or_default().trim()
}

fn is_test(attribute: &str) -> bool {
    let path = path(attribute);
    path == "test" || path.ends_with("::test")
}

/// Whether a function follows, with whatever may stand before `fn`.
fn is_function(rest: &str) -> bool {
    let before = ["pub", "crate", "async", "const", "unsafe", "extern"];
    words(rest).map(|found| found.word).find(|word| !before.contains(word)) == Some("fn")
}

/// The names in the brackets of a claim. The code has spaces for the insides of literals, a
/// letter for a letter, so the text says at the same letters what they are.
fn names(text: &str, code: &str, open: usize, close: usize) -> Vec<String> {
    let before = code[..open].chars().count();
    let length = code[open..close].chars().count();
    let said: String = text.chars().skip(before).take(length).collect();
    said.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::{LIST, check};
    use crate::tidy::{Finding, Tree, findings};

    const LINES: &str = "# List\n\n| name | shown |\n|---|---|\n| `W-05` | three messages |\n\
                         | `7-L1` | unsafe |\n\n## Not claimed yet\n\n| `Q-01` | a question |\n";

    /// What is found in a test file beside the list.
    fn found(text: &str) -> Vec<String> {
        findings(check, &[(LIST, LINES), ("crates/a/tests/b.rs", text)])
    }

    /// The same where nothing is left to claim, so that other findings stand alone.
    fn found_beside(text: &str) -> Vec<String> {
        found(&format!("#[claims(\"W-05\", \"7-L1\")]\n#[test]\nfn all() {{}}\n{text}"))
    }

    #[test]
    fn lines_that_tests_claim_pass_wherever_the_attribute_stands() {
        let before = "/// Why.\n#[claims(\"W-05\")]\n#[test]\nfn a() {}";
        let after = "#[test]\n#[should_panic]\n// Here.\n#[tenure_claims::claims(\"7-L1\")]\n\
                     pub(crate) async fn b() {}";
        assert_eq!(found(&format!("{before}\n{after}")), [""; 0]);
        assert_eq!(
            found("#[claims(\n    \"W-05\",\n    \"7-L1\",\n)]\n#[test] fn a() {}"),
            [""; 0]
        );
        assert_eq!(found_beside("#[claims(\"W-05\")]\n#[tokio::test]\nasync fn a() {}"), [""; 0]);
    }

    #[test]
    fn a_line_that_no_test_claims_is_found() {
        let one = found("#[claims(\"W-05\")]\n#[test]\nfn a() {}");
        assert_eq!(
            one,
            ["docs/checklist.md:6: no test claims `7-L1`; write the test, with `#[claims(…)]`"]
        );
        assert_eq!(found("fn a() {}").len(), 2);
    }

    #[test]
    fn a_claim_of_what_is_not_listed_is_found() {
        let findings = found_beside("#[test]\n#[claims(\"7-L1\", \"W-5\")]\nfn a() {}");
        assert_eq!(findings.len(), 1);
        assert!(findings[0].starts_with("crates/a/tests/b.rs:5: `W-5` is claimed, but"));
    }

    #[test]
    fn a_claim_of_a_line_that_is_said_to_be_left_for_later_is_found() {
        let findings = found_beside("#[test]\n#[claims(\"Q-01\")]\nfn a() {}");
        assert_eq!(findings.len(), 1);
        assert!(findings[0].ends_with("move its line up"));
    }

    #[test]
    fn only_a_test_can_claim() {
        for item in ["fn a() {}", "#[inline]\nfn a() {}", "#[test]\nmod a {}", "struct Test;"] {
            let findings = found_beside(&format!("#[claims(\"W-05\")]\n{item}"));
            assert_eq!(findings.len(), 1, "{item}");
            assert!(findings[0].contains("is claimed by something that is no test"), "{item}");
        }
        // The test after it is not the one that claims.
        let findings = found("#[claims(\"W-05\", \"7-L1\")]\nfn a() {}\n#[test]\nfn b() {}");
        assert_eq!(findings.len(), 2 + 2, "nor do such claims count: {findings:?}");
    }

    #[test]
    fn an_ignored_test_cannot_claim() {
        for mark in ["#[ignore]", "#[ignore = \"slow\"]", "#[cfg_attr(miri, ignore)]"] {
            let claimed = format!("#[test]\n{mark}\n#[claims(\"W-05\", \"7-L1\")]\nfn a() {{}}");
            let findings = found(&claimed);
            assert_eq!(findings.len(), 2 + 2, "{mark}: {findings:?}");
            assert!(findings[0].contains("is claimed by a test that is ignored"), "{mark}");
        }
    }

    #[test]
    fn what_comments_and_texts_say_is_no_claim() {
        let text = "/// #[claims(\"W-05\")]\n#[test]\nfn a() { f(\"#[claims(\\\"7-L1\\\")]\") }";
        assert_eq!(found(text).len(), 2);
    }

    #[test]
    fn letters_of_several_bytes_before_a_claim_do_not_hide_it() {
        let text = "// „…“\nconst A: &str = \"→→→\";\n";
        assert_eq!(found_beside(text), [""; 0]);
        let after = "#[test]\n#[claims(\"7-L1\", \"W-05\")]\nfn a() {}";
        assert_eq!(found(&format!("{text}{after}")), [""; 0]);
    }

    #[test]
    fn a_line_that_is_there_twice_or_says_nothing_is_found() {
        let twice = "| `W-05` | one |\n| `W-05` | two |\n";
        let test = "#[test]\n#[claims(\"W-05\")]\nfn a() {}";
        assert_eq!(findings(check, &[(LIST, twice), ("a.rs", test)]).len(), 1);
        assert_eq!(findings(check, &[(LIST, "| `W-05` | |"), ("a.rs", test)]).len(), 1);
    }

    #[test]
    fn without_a_list_nothing_may_be_claimed() {
        assert_eq!(findings(check, &[("a.rs", "#[test]\nfn a() {}")]), [""; 0]);
        let test = "#[test]\n#[claims(\"W-05\")]\nfn a() {}";
        assert_eq!(findings(check, &[("a.rs", test)]).len(), 1);
    }

    #[test]
    fn every_line_of_the_checklist_of_this_repository_is_claimed() {
        let tree = Tree::read(&crate::root()).expect("the repository can be read");
        let lines = tree.file(LIST).expect("there is a list").lines();
        assert!(lines.filter(|(_, text)| text.starts_with("| `")).count() > 60);
        let findings: Vec<String> = check(&tree).iter().map(Finding::to_string).collect();
        assert_eq!(findings, [""; 0]);
    }
}
