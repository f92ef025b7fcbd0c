//! The section of `docs/algorithms.md` about the effect of faults.

use serde_json::Value;

use super::algorithms::{name, table};
use super::command::{Command, as_list, as_text};
use crate::parallel::map_parallel;

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

/// Services with a table of their own, in the order of the page.
const SERVICES: [&str; 3] = ["mutex", "election", "agreement"];

/// A page that was generated earlier, of which only a sample of the rows is generated again.
#[derive(Clone, Copy)]
pub(super) struct Sample<'a> {
    pub(super) page: &'a str,
    /// Every `step`-th row of a table is generated again. The others are copied from the page. At
    /// least 1.
    pub(super) step: usize,
}

/// Generates the section. Without a sample, this takes a minute on two cores.
pub(super) fn section(command: &Command, sample: Option<Sample<'_>>) -> Result<String, String> {
    let tables = map_parallel(&SERVICES, |service| {
        let check_all = format!("compare {service} --faults");
        let Some(sample) = sample else { return Ok(generated(&command.json(&check_all)?)) };
        let old = old_table(sample.page, service)?;
        let names: Vec<&str> = sampled_rows(old, sample.step).filter_map(name_of).collect();
        let new = generated(&command.json(&format!("{check_all} --only {}", names.join(",")))?);
        Ok(with_rows(old, &new))
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
    table(&head, rows)
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

/// Returns the table of a service in a generated page.
fn old_table<'a>(page: &'a str, service: &str) -> Result<&'a str, String> {
    let place = SERVICES.iter().position(|it| *it == service);
    let section = page.split(HEAD).nth(1).and_then(|text| text.split("\n\n## ").next());
    let table = place.zip(section).and_then(|(place, text)| text.split("\n\n").nth(place));
    table.ok_or_else(|| format!("no table of faults for `{service}`; run `cargo xtask docs`"))
}

/// Returns every `step`-th row of a table.
fn sampled_rows(table: &str, step: usize) -> impl Iterator<Item = &str> {
    table.lines().skip(2).step_by(step)
}

/// Returns the name of an algorithm in the first cell of its row.
fn name_of(row: &str) -> Option<&str> {
    row.split('`').nth(1)
}

/// Returns the table `new`, and between its rows those rows of `old` whose algorithms it does not
/// have.
fn with_rows(old: &str, new: &str) -> String {
    let head = new.lines().take(2);
    let replacement = |row| new.lines().skip(2).find(|it| name_of(it) == name_of(row));
    let rows = old.lines().skip(2).map(|row| replacement(row).unwrap_or(row));
    head.chain(rows).map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{HEAD, name_of, old_table, sampled_rows, verdict, with_rows};

    const OLD: &str =
        "| algorithm | loss |\n| --- | --- |\n| `a` | ok |\n| `b` | ? |\n| `c` | ok |";

    #[test]
    fn replaces_sampled_rows_and_copies_the_others() {
        let sampled: Vec<_> = sampled_rows(OLD, 2).filter_map(name_of).collect();
        assert_eq!(sampled, ["a", "c"]);
        let new = "| algorithm | loss |\n| --- | --- |\n| `a` | ok |\n| `c` | blocked (2) |\n";
        let made = with_rows(OLD, new);
        assert_eq!(made, OLD.replace("| `c` | ok |", "| `c` | blocked (2) |") + "\n");
    }

    #[test]
    fn finds_the_table_of_a_service() {
        let page = format!("# Page\n\n{HEAD}1\n\n{OLD}\n\n3\n\n## Variants\n\n4");
        assert_eq!(old_table(&page, "mutex"), Ok("1"));
        assert_eq!(old_table(&page, "election"), Ok(OLD));
        assert_eq!(old_table(&page, "agreement"), Ok("3"));
        assert!(old_table("# Page", "mutex").is_err());
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
