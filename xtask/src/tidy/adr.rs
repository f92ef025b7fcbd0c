//! Check of decision records: they are numbered without gaps, have a status and all sections, and
//! fit on a page. The index lists all of them.

use super::{Finding, RepositoryFile, RepositoryTree};

const FOLDER: &str = "docs/adr/";
const INDEX: &str = "docs/adr/README.md";
const SECTIONS: &[&str] = &["## Context", "## Decision", "## Alternatives", "## Consequences"];
const STATUS: &str = "Status: ";
const PAGE: usize = 80;

pub(super) fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_record = |file: &&RepositoryFile| file.path.starts_with(FOLDER) && file.path != INDEX;
    let records = tree.files().iter().filter(is_record);
    let index = tree.file(INDEX).map_or("", |file| file.text.as_str());
    for (number, file) in (1..).zip(records) {
        let mut find = |line: usize, message: String, fix: &str| {
            findings.push(Finding::new(&file.path, line, message, fix));
        };
        match number_in_name(&file.path) {
            None => find(1, "invalid file name: expected NNNN-some-words.md".into(), "rename it"),
            Some(found) if found != number => {
                find(
                    1,
                    format!("the number should be {number:04}"),
                    "number without gaps or duplicates",
                );
            }
            Some(_) => {}
        }
        let heading = format!("# {number:04}. ");
        if !file.text.starts_with(&heading) {
            find(1, format!("the first line does not begin with `{heading}`"), "correct it");
        }
        if !file.text.lines().any(|line| line.starts_with(STATUS)) {
            find(1, format!("no line begins with `{STATUS}`"), "add it");
        }
        if !index.contains(file.path.trim_start_matches(FOLDER)) {
            find(1, format!("{INDEX} does not list the record"), "add a row");
        }
        for section in missing_sections(file) {
            find(1, format!("missing section `{section}`"), "add it");
        }
        if file.text.lines().count() > PAGE {
            find(PAGE + 1, format!("the record exceeds a page of {PAGE} lines"), "shorten it");
        }
    }
    findings
}

/// Returns the number in a file name such as `docs/adr/0007-some-words.md`.
fn number_in_name(path: &str) -> Option<usize> {
    let (number, title) = path.strip_prefix(FOLDER)?.strip_suffix(".md")?.split_once('-')?;
    let kebab =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    let named = !title.is_empty() && title.chars().all(kebab);
    (number.len() == 4 && named).then(|| number.parse().ok())?
}

fn missing_sections(file: &RepositoryFile) -> impl Iterator<Item = &&str> {
    SECTIONS.iter().filter(|section| !file.text.lines().any(|line| line == **section))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::findings;

    const BODY: &str =
        "Status: accepted\n## Context\n## Decision\n## Alternatives\n## Consequences\n";
    const INDEX: (&str, &str) = ("docs/adr/README.md", "0001-a.md 0001-b.md 0002-b-c.md 0003-b.md");

    fn record(number: &str) -> String {
        format!("# {number}. A title\n{BODY}")
    }

    #[test]
    fn accepts_records_numbered_from_one() {
        let (first, second) = (record("0001"), record("0002"));
        let sample = [INDEX, ("docs/adr/0001-a.md", &*first), ("docs/adr/0002-b-c.md", &*second)];
        assert_eq!(findings(check, &sample), [""; 0]);
    }

    #[test]
    fn finds_gaps_and_duplicates() {
        let (first, second) = (record("0001"), record("0002"));
        let gap = [INDEX, ("docs/adr/0001-a.md", &*first), ("docs/adr/0003-b.md", &*second)];
        assert_eq!(findings(check, &gap).len(), 1);
        let twins = [INDEX, ("docs/adr/0001-a.md", &*first), ("docs/adr/0001-b.md", &*second)];
        assert_eq!(findings(check, &twins).len(), 1);
    }

    #[test]
    fn finds_invalid_name_heading_and_sections() {
        let first = record("0001");
        let found = |path, text: &str| findings(check, &[INDEX, (path, text)]).len();
        assert_eq!(found("docs/adr/0001-A_b.md", &first), 2);
        assert_eq!(found("docs/adr/0001-a.md", &first), 0);
        assert_eq!(found("docs/adr/0001-a.md", BODY), 1);
        assert_eq!(found("docs/adr/0001-a.md", "# 0001. A title\n"), 5);
    }

    #[test]
    fn finds_record_missing_in_index() {
        let first = record("0001");
        assert_eq!(findings(check, &[("docs/adr/0001-a.md", &*first)]).len(), 1);
    }

    #[test]
    fn finds_record_longer_than_a_page() {
        let long = record("0001") + &"\n".repeat(80);
        assert_eq!(findings(check, &[INDEX, ("docs/adr/0001-a.md", &*long)]).len(), 1);
    }
}
