//! Decision records are numbered without gaps, say what they must, and fit on a page.

use super::{File, Finding, Tree};

const FOLDER: &str = "docs/adr/";
const SECTIONS: &[&str] = &["## Context", "## Decision", "## Consequences"];
const PAGE: usize = 80;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let records = tree.files().iter().filter(|file| file.path.starts_with(FOLDER));
    for (number, file) in (1..).zip(records) {
        let mut find = |line: usize, says: String, fix: &str| {
            findings.push(Finding::new(&file.path, line, says, fix));
        };
        match number_in_name(&file.path) {
            None => find(1, "the name is not NNNN-some-words.md".into(), "rename it"),
            Some(found) if found != number => {
                find(
                    1,
                    format!("the number should be {number:04}"),
                    "number without gaps or twins",
                );
            }
            Some(_) => {}
        }
        let heading = format!("# {number:04}. ");
        if !file.text.starts_with(&heading) {
            find(1, format!("the first line does not begin with `{heading}`"), "write it so");
        }
        for section in missing_sections(file) {
            find(1, format!("there is no `{section}`"), "write it");
        }
        if file.text.lines().count() > PAGE {
            find(PAGE + 1, format!("the record exceeds a page of {PAGE} lines"), "say less");
        }
    }
    findings
}

/// The number in `docs/adr/0007-some-words.md`.
fn number_in_name(path: &str) -> Option<usize> {
    let (number, title) = path.strip_prefix(FOLDER)?.strip_suffix(".md")?.split_once('-')?;
    let kebab =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    let named = !title.is_empty() && title.chars().all(kebab);
    (number.len() == 4 && named).then(|| number.parse().ok())?
}

fn missing_sections(file: &File) -> impl Iterator<Item = &&str> {
    SECTIONS.iter().filter(|section| !file.text.lines().any(|line| line == **section))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::findings;

    const BODY: &str = "## Context\n## Decision\n## Consequences\n";

    fn record(number: &str) -> String {
        format!("# {number}. A title\n{BODY}")
    }

    #[test]
    fn records_numbered_from_one_pass() {
        let (first, second) = (record("0001"), record("0002"));
        let sample = [("docs/adr/0001-a.md", &*first), ("docs/adr/0002-b-c.md", &*second)];
        assert_eq!(findings(check, &sample), [""; 0]);
    }

    #[test]
    fn gaps_and_twins_are_found() {
        let (first, second) = (record("0001"), record("0002"));
        let gap = [("docs/adr/0001-a.md", &*first), ("docs/adr/0003-b.md", &*second)];
        assert_eq!(findings(check, &gap).len(), 1);
        let twins = [("docs/adr/0001-a.md", &*first), ("docs/adr/0001-b.md", &*second)];
        assert_eq!(findings(check, &twins).len(), 1);
    }

    #[test]
    fn a_name_a_heading_or_a_section_amiss_is_found() {
        let first = record("0001");
        assert_eq!(findings(check, &[("docs/adr/1-a.md", &*first)]).len(), 1);
        assert_eq!(findings(check, &[("docs/adr/0001-A_b.md", &*first)]).len(), 1);
        assert_eq!(findings(check, &[("docs/adr/0001-a.md", BODY)]).len(), 1);
        assert_eq!(findings(check, &[("docs/adr/0001-a.md", "# 0001. A title\n")]).len(), 3);
    }

    #[test]
    fn a_record_longer_than_a_page_is_found() {
        let long = record("0001") + &"\n".repeat(80);
        assert_eq!(findings(check, &[("docs/adr/0001-a.md", &*long)]).len(), 1);
    }
}
