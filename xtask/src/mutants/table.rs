//! The tables of changes that were drawn before: what is to be tried again.

use std::fs;
use std::path::Path;

use super::sites::Site;

/// Where the tables are.
const PAGE: &str = "docs/mutants.md";

/// Those of the sites that a row of the page speaks of whose last cell has these words, in the
/// order of the page, and the rows of which nothing is there any more.
pub(super) fn again(root: &Path, words: &str, sites: &[Site]) -> (Vec<Site>, Vec<String>) {
    let page = fs::read_to_string(root.join(PAGE)).expect("it is there");
    let (mut found, mut gone): (Vec<Site>, Vec<String>) = Default::default();
    for row in page.lines().filter_map(Row::of).filter(|row| row.shown_by.contains(words)) {
        let is_meant = |site: &&Site| site.file == row.file && site.says == row.says;
        // Lines have moved since.
        match sites.iter().filter(is_meant).min_by_key(|site| site.line.abs_diff(row.line)) {
            Some(site) if found.iter().any(|it| it.place == site.place && it.file == site.file) => {
            }
            Some(site) => found.push(site.clone()),
            None => gone.push(format!("{}:{} {}", row.file, row.line, row.says)),
        }
    }
    (found, gone)
}

/// One change that was tried.
#[derive(Debug, PartialEq, Eq)]
struct Row<'a> {
    file: &'a str,
    line: usize,
    says: String,
    shown_by: &'a str,
}

impl Row<'_> {
    /// What a line of the page says, if it is a row of such a table.
    fn of(line: &str) -> Option<Row<'_>> {
        let cells: Vec<&str> = line.strip_prefix("| ")?.splitn(4, " | ").collect();
        let [number, place, says, shown_by] = cells[..] else { return None };
        number.parse::<usize>().ok()?;
        let (file, at) = place.split_once(':')?;
        Some(Row { file, line: at.parse().ok()?, says: says.replace("\\|", "|"), shown_by })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let row = "| 5 | compose/named.rs:132 | `a && !b`: `\\|\\|` | nothing: unreachable |";
        let read = Row::of(row).expect("a row");
        assert_eq!((read.file, read.line), ("compose/named.rs", 132));
        assert_eq!(read.says, "`a && !b`: `||`");
        assert!(read.shown_by.contains("nothing"));
        assert_eq!(Row::of("| # | where | change | shown by |"), None);
    }
}
