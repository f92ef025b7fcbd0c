//! Section of `docs/algorithms.md` about self-stabilizing systems.

use serde_json::Value;

use super::command::{TenureCommand, as_text};
use crate::parallel::parallel_map;

const ABOUT: &str = "\
Dijkstra's three solutions of 1974 (CACM 17(11)), whose machines read the states of their
neighbours. `tenure check NAME -n N --from any` starts them in every state, and one machine moves at
a time. A state is legitimate if exactly one privilege is present. *Moves* is the greatest number of
moves to a legitimate state; `--measure moves` draws a schedule with that many. `tenure list NAME`
shows the mistakes.

";

/// Numbers of machines for which the table has a row.
const SIZES: [u32; 4] = [3, 4, 5, 6];

const NAMES: [&str; 3] = ["dijkstra-ring", "dijkstra-four-state", "dijkstra-three-state"];

pub(super) fn section(command: &TenureCommand) -> Result<String, String> {
    let systems: Vec<(&str, u32)> =
        NAMES.into_iter().flat_map(|name| SIZES.map(|size| (name, size))).collect();
    let rows = parallel_map(&systems, |(name, size)| {
        let report = command.json_output(&format!("check {name} -n {size} --from any"))?;
        Ok(vec![
            format!("`{name}`"),
            size.to_string(),
            report["states"].to_string(),
            report["legitimate"].to_string(),
            as_text(&report["properties"]["closure"]).to_owned(),
            as_text(&report["properties"]["convergence"]).to_owned(),
            moves(&report["moves"]),
        ])
    });
    let rows: Vec<Vec<String>> = rows.into_iter().collect::<Result<_, String>>()?;
    let head = "system | machines | states | legitimate | closure | convergence | moves";
    let table = super::algorithms::markdown_table(head, rows.into_iter());
    Ok(format!("## Self-stabilizing systems\n\n{ABOUT}{table}\n"))
}

fn moves(value: &Value) -> String {
    value.as_u64().map_or_else(|| as_text(value).to_owned(), |moves| moves.to_string())
}
