//! Section of `docs/algorithms.md` about algorithms that have special models in the checker: locks
//! in shared memory, and agreement among generals who may lie.

use serde_json::Value;

use super::algorithms::markdown_table;
use super::command::{TenureCommand, as_list, as_text};
use crate::demonstration::Demonstration;
use crate::parallel::parallel_map;

const ABOUT_LOCKS: &str = "\
Locks whose processes read and write registers. `tenure check NAME -n N` explores every interleaving
of the accesses; the users request again and again. Order and bypass count from the end of the
doorway. A star marks verdicts within tickets up to 4.

";

const ABOUT_GENERALS: &str = "\
The oral messages algorithm OM(m), the one algorithm here with liars. `tenure check
byzantine-generals -n N` explores everything that one liar can send. Three generals need
`--beyond-assumptions`.

";

const ABOUT_MISTAKES: &str = "Their mistakes, each with the command that shows it:\n\n";

const LOCKS: [&str; 3] = ["peterson-lock", "bakery", "test-and-set"];

/// Properties that the table of locks shows, one per column.
const PROPERTIES: [&str; 5] =
    ["mutual-exclusion", "deadlock-freedom", "starvation-freedom", "order", "bounded-bypass"];

pub(super) fn section(command: &TenureCommand) -> Result<String, String> {
    let (locks, generals) = (locks(command)?, generals(command)?);
    let mistakes = mistakes(command)?;
    Ok(format!(
        "## Shared memory, and liars\n\n{ABOUT_LOCKS}{locks}\n{ABOUT_GENERALS}{generals}\n\
         {ABOUT_MISTAKES}{mistakes}\n"
    ))
}

fn locks(command: &TenureCommand) -> Result<String, String> {
    let groups: Vec<(&str, u32)> =
        LOCKS.into_iter().flat_map(|name| [2, 3].map(|size| (name, size))).collect();
    let rows = parallel_map(&groups, |(name, size)| {
        let judged = PROPERTIES.join(",").replace("bounded-bypass", "bounded-bypass=1");
        let report = command.json_output(&format!("check {name} -n {size} --property {judged}"))?;
        let star = if report["bounds"].is_null() { "" } else { "*" };
        let mut cells = vec![format!("`{name}`"), size.to_string(), report["states"].to_string()];
        let verdict = |property| format!("{}{star}", as_text(&report["properties"][property]));
        cells.extend(PROPERTIES.map(verdict));
        Ok(cells)
    });
    let rows: Vec<Vec<String>> = rows.into_iter().collect::<Result<_, String>>()?;
    let head = format!("lock | processes | states | {}", PROPERTIES.join(" | "));
    Ok(markdown_table(&head, rows.into_iter()))
}

fn generals(command: &TenureCommand) -> Result<String, String> {
    let row = |size: u32| {
        let line = format!("check byzantine-generals -n {size} --beyond-assumptions");
        let report = command.json_output(&line)?;
        let messages = report["depth"].as_u64().unwrap_or(0).saturating_sub(1);
        let verdict = |property| as_text(&report["properties"][property]).to_owned();
        let (agreement, validity) = (verdict("agreement"), verdict("validity"));
        Ok(vec![size.to_string(), messages.to_string(), agreement, validity])
    };
    let rows: Vec<Vec<String>> = [3, 4, 5].into_iter().map(row).collect::<Result<_, String>>()?;
    let head = "generals | messages | agreement (IC1) | validity (IC2)";
    Ok(markdown_table(head, rows.into_iter()))
}

/// Generates the table of faulty variants for this section. For each variant, the table has the
/// changed rule and a command that shows its effect.
fn mistakes(command: &TenureCommand) -> Result<String, String> {
    let mut rows = Vec::new();
    for name in LOCKS.into_iter().chain(["byzantine-generals"]) {
        let cards = command.json_output(&format!("list {name}"))?;
        for variant in as_list(&cards[0]["variants"]) {
            rows.push(mistake(name, variant));
        }
    }
    let head = "variant | of | changed rule | verdict | command";
    Ok(markdown_table(head, rows.into_iter()))
}

fn mistake(name: &str, variant: &Value) -> Vec<String> {
    let of = |key: &str| as_text(&variant[key]).to_owned();
    let demonstration = Demonstration::of(name, variant);
    let command = demonstration.map_or_else(String::new, |it| format!("`tenure {}`", it.command()));
    vec![
        format!("`{}`", of("name")),
        format!("`{name}`"),
        of("description"),
        of("verdict"),
        command,
    ]
}
