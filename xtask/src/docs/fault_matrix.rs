//! The section of `docs/algorithms.md` about the effect of faults.

use serde_json::Value;

use super::algorithms::{markdown_table, name};
use super::command::{TenureCommand, as_list, as_text};
use crate::parallel::parallel_map;

const HEAD: &str = "\
## What one fault does

Each cell is an exhaustive check of groups of two and three processes. *ok* means that every promise
of the card holds in every schedule, *blocked* that a process may wait for ever, and *UNSAFE* that
another promise is broken. The number is the length of a shortest schedule in steps. *(n = 2)* means
that groups of three have more states than were searched, and *?* that groups of two have. *blocked
(n = 2)* is a group of two that a crash leaves without a majority. A dash means that the fault does
not exist for this algorithm. `tenure compare SERVICE --faults` prints the table, and with
`--format json` it names the check behind each cell.

";

/// A sample of the rows of a page. Only these rows are generated again. All other rows come from a
/// page that was generated earlier.
#[derive(Clone, Copy)]
pub(super) struct RowSample<'a> {
    pub(super) page: &'a str,
    /// Number of the first row that is generated again, from 0.
    pub(super) first: usize,
    /// One in `step` rows of a table is generated again. All other rows are copied from the page.
    /// `step` is at least 1.
    pub(super) step: usize,
}

impl RowSample<'_> {
    /// Returns the sample of the rows `names`. It is empty only if `names` is.
    fn of<'a>(&self, names: &[&'a str]) -> Vec<&'a str> {
        let first = self.first % names.len().max(1);
        names.iter().copied().skip(first).step_by(self.step).collect()
    }
}

/// Generates the section, with a table for each service. `reports` are the outputs of `tenure
/// compare` for these services. If `sample` is `None`, all rows are generated, which takes a minute
/// on two cores.
pub(super) fn section(
    command: &TenureCommand,
    reports: &[Value],
    sample: Option<RowSample<'_>>,
) -> Result<String, String> {
    let tables = parallel_map(reports, |report| {
        let algorithms = as_list(&report["algorithms"]).iter();
        let names: Vec<&str> = algorithms.map(|row| as_text(&row["name"])).collect();
        let sampled = sample.map_or_else(|| names.clone(), |sample| sample.of(&names));
        let (service, sampled) = (as_text(&report["service"]), sampled.join(","));
        let matrix =
            command.json_output(&format!("compare {service} --faults --only {sampled}"))?;
        complete(&generated(&matrix), &names, sample.map_or("", |sample| sample.page))
    });
    let tables: Vec<String> = tables.into_iter().collect::<Result<_, String>>()?;
    Ok(format!("{HEAD}{}\n", tables.join("\n")))
}

/// Formats the output of `tenure compare SERVICE --faults`.
fn generated(matrix: &Value) -> String {
    let faults: Vec<&str> = as_list(&matrix["faults"]).iter().map(as_text).collect();
    let head = format!("algorithm | {}", faults.join(" | "));
    let rows = as_list(&matrix["algorithms"]).iter().map(|row| {
        let mut cells = vec![name(row)];
        cells.extend(as_list(&row["cells"]).iter().map(verdict));
        cells
    });
    markdown_table(&head, rows)
}

fn verdict(cell: &Value) -> String {
    let steps = cell["length"].as_u64().map(|steps| format!(" ({steps})")).unwrap_or_default();
    match as_text(&cell["verdict"]) {
        "none" => "–".into(),
        "unknown" => "?".into(),
        "ok-for-two" => "ok (n = 2)".into(),
        "blocked" if cell["without_majority"] == true => match cell["length"].as_u64() {
            Some(steps) => format!("blocked (n = 2, {steps})"),
            None => "blocked (n = 2)".into(),
        },
        "unsafe" => format!("**UNSAFE**{steps}"),
        other => format!("{other}{steps}"),
    }
}

/// Returns `table` with one row for each of `names`. If `table` has no row for a name, copies the
/// row from the old page `old`, which contains the same section.
fn complete(table: &str, names: &[&str], old: &str) -> Result<String, String> {
    let old = old.split_once(HEAD).map_or("", |(_, section)| section);
    let mut lines: Vec<&str> = table.lines().take(2).collect();
    for name in names {
        let first_cell = format!("| `{name}` |");
        let mut rows = table.lines().chain(old.lines());
        let missing = || format!("no fault row for `{name}`: run `cargo xtask docs`");
        lines.push(rows.find(|row| row.starts_with(&first_cell)).ok_or_else(missing)?);
    }
    Ok(lines.join("\n") + "\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{HEAD, RowSample, complete, verdict};

    #[test]
    fn samples_contain_each_row_once() {
        let names = ["a", "b", "c", "d"];
        let sample = |first| RowSample { page: "", first, step: 3 }.of(&names);
        assert_eq!([sample(0), sample(1), sample(2)], [vec!["a", "d"], vec!["b"], vec!["c"]]);
        assert_eq!(RowSample { page: "", first: 2, step: 3 }.of(&["a"]), ["a"]);
    }

    #[test]
    fn rows_outside_the_sample_are_copied_from_the_page() {
        let head = "| algorithm | loss |\n| --- | --- |\n";
        let page = format!("| `b` | other table |\n\n{HEAD}{head}| `a` | ok |\n| `b` | ? |\n");
        let sample = format!("{head}| `a` | blocked (2) |\n");
        let made = complete(&sample, &["a", "b"], &page);
        assert_eq!(made, Ok(sample.clone() + "| `b` | ? |\n"));
        assert_eq!(complete(&sample, &["a"], &page), Ok(sample.clone()));
        assert!(complete(&sample, &["a", "c"], &page).is_err());
    }

    #[test]
    fn prints_length_of_violation() {
        let cell = |verdict: &str, length: u64| json!({"verdict": verdict, "length": length});
        assert_eq!(verdict(&cell("unsafe", 6)), "**UNSAFE** (6)");
        assert_eq!(verdict(&cell("blocked", 2)), "blocked (2)");
        let of_two = json!({"verdict": "blocked", "length": 2, "without_majority": true});
        assert_eq!(verdict(&of_two), "blocked (n = 2, 2)");
        assert_eq!(verdict(&json!({"verdict": "ok"})), "ok");
        assert_eq!(verdict(&json!({"verdict": "none"})), "–");
    }
}
