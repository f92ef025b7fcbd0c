//! The table of results: cycles of acquisition and release per second, as Markdown.

use std::fs;
use std::path::Path;

use crate::load::LOADS;
use crate::side::Side;

/// Line of a document before the table. [`END`] is the line after it.
const BEGIN: &str = "<!-- table of cycles, written by `--readme` -->";
const END: &str = "<!-- end of the table -->";

/// Cycles per second of one row, by column. `None` if the service and client of the column do not
/// have the kind of lock that the row measures.
pub type Rates = Vec<Option<f64>>;

pub struct Table {
    head: [String; 2],
    /// Measured rows. Each has the name of its load, and its line of the Markdown table.
    rows: Vec<(&'static str, String)>,
}

impl Table {
    /// Makes a table. `etcd` is the version of etcd. `rates` has the rows of [`LOADS`]; a row that
    /// was not measured is `None`.
    pub fn new(sides: &[Side], etcd: Option<&str>, rates: &[Option<Rates>]) -> Table {
        let name = |side: &Side| match (side, etcd) {
            (Side::Etcd, Some(version)) => format!("{} {version}", side.heading()),
            _ => side.heading().to_owned(),
        };
        let names: String = sides.iter().map(|side| format!(" {} |", name(side))).collect();
        let head =
            [format!("| |{names} goal |"), format!("|---|{}---:|", "---:|".repeat(sides.len()))];
        let measured = LOADS.iter().zip(rates);
        let rows = measured.filter_map(|(load, rates)| {
            let goal = load.bar.map_or("–".to_owned(), |bar| format!("{bar}×"));
            // Without etcd there is nothing to compare with.
            let base = rates.as_ref()?.first().copied().flatten();
            let base = base.filter(|_| sides.first() == Some(&Side::Etcd));
            let cells = rates.iter().flatten().enumerate();
            let cells: String = cells
                .map(|(column, rate)| format!(" {} |", cell(*rate, base.filter(|_| column > 0))))
                .collect();
            Some((load.name, format!("| {} |{cells} {goal} |", load.name)))
        });
        Table { head, rows: rows.collect() }
    }

    /// Returns the table as Markdown. `former` contains the lines of an earlier table. If both
    /// tables have the same columns, the rows that were not measured are copied from `former`.
    pub fn markdown(&self, former: &str) -> String {
        let former: Vec<&str> = former.lines().collect();
        let has_same_columns = former.first() == Some(&self.head[0].as_str());
        let kept = |name: &str| {
            let line = former.iter().find(|line| line.starts_with(&format!("| {name} |")));
            line.filter(|_| has_same_columns).map(|line| (*line).to_owned())
        };
        let rows = LOADS.iter().filter_map(|load| {
            let measured = self.rows.iter().find(|(name, _)| *name == load.name);
            measured.map(|(_, line)| line.clone()).or_else(|| kept(load.name))
        });
        let lines: Vec<String> = self.head.iter().cloned().chain(rows).collect();
        lines.join("\n") + "\n"
    }

    /// Replaces the table in a document.
    ///
    /// # Errors
    ///
    /// The document cannot be read or written, or has no place for the table.
    pub fn write_into(&self, document: &Path) -> Result<(), String> {
        let describe = |error: std::io::Error| format!("{}: {error}", document.display());
        let text = fs::read_to_string(document).map_err(describe)?;
        let replaced = self.replace(&text).ok_or_else(|| {
            format!("{}: expected the lines '{BEGIN}' and '{END}'", document.display())
        })?;
        fs::write(document, replaced).map_err(describe)
    }

    fn replace(&self, text: &str) -> Option<String> {
        let (before, rest) = text.split_once(BEGIN)?;
        let (former, after) = rest.split_once(END)?;
        Some(format!("{before}{BEGIN}\n\n{}\n{END}{after}", self.markdown(former.trim())))
    }
}

/// Returns a rate, and how many times as high as `base` it is.
fn cell(rate: Option<f64>, base: Option<f64>) -> String {
    let Some(rate) = rate else { return "–".to_owned() };
    let number = with_separators(rate);
    match base.map(|base| rate / base) {
        Some(ratio) if ratio >= 9.95 => format!("{number} ({ratio:.0}×)"),
        Some(ratio) => format!("{number} ({ratio:.1}×)"),
        None => number,
    }
}

/// Returns a whole number with a comma between groups of three digits.
fn with_separators(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIDES: [Side; 2] = [Side::Etcd, Side::TenureDropped];

    fn table(rates: &[Option<Rates>]) -> Table {
        Table::new(&SIDES, Some("3.5.1"), rates)
    }

    #[test]
    fn cells_have_separators_and_ratios() {
        let cells = [
            (Some(20.0), None, "20"),
            (Some(3930.4), None, "3,930"),
            (Some(20980.0), Some(3930.0), "20,980 (5.3×)"),
            (Some(1234567.0), Some(1234567.0), "1,234,567 (1.0×)"),
            (Some(2027.0), Some(80.0), "2,027 (25×)"),
            (Some(999.0), Some(100.0), "999 (10×)"),
            (None, Some(80.0), "–"),
        ];
        for (rate, base, expected) in cells {
            assert_eq!(cell(rate, base), expected);
        }
    }

    #[test]
    fn unmeasured_rows_are_kept() {
        let first = table(&[Some(vec![Some(20.0), Some(847.0)])]).markdown("");
        let expected = "| | etcd 3.5.1 | its client, `drop` | goal |\n|---|---:|---:|---:|\n\
                        | one lock, 2 clients | 20 | 847 (42×) | 20× |\n";
        assert_eq!(first, expected);
        let second = table(&[None, Some(vec![None, Some(1000.0)])]);
        let row = "| one lock, 8 clients | – | 1,000 | 10× |\n";
        assert_eq!(second.markdown(&first), format!("{expected}{row}"));
        let other = first.replace("3.5.1", "3.5.2");
        assert!(!second.markdown(&other).contains("2 clients"), "other columns are not mixed");
    }

    #[test]
    fn document_keeps_text_around_the_table() {
        let table = table(&[Some(vec![Some(20.0), Some(847.0)])]);
        let text = format!("before\n{BEGIN}\n\nold\n\n{END}\nafter\n");
        let replaced = table.replace(&text).expect("a place");
        assert!(replaced.starts_with("before\n") && replaced.ends_with(&format!("{END}\nafter\n")));
        assert!(replaced.contains("847 (42×)") && !replaced.contains("old"));
        assert_eq!(table.replace("no place"), None);
    }

    /// Checks that the README of this program contains a table in the form that this program
    /// writes.
    #[test]
    fn readme_has_a_table_of_this_form() {
        let readme = include_str!("../README.md");
        let former = readme.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END));
        let former = former.expect("the lines around the table").0.trim();
        let all = Table::new(&Side::ALL, Some("3.5.1"), &[]);
        assert_eq!(all.markdown(former).trim(), former);
    }
}
