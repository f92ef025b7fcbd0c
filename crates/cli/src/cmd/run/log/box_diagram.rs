//! The logs of all nodes during a run, a row of boxes each.

use std::fmt::Write;

use tenure_core::ProcessId;

use crate::cmd::run::node_process::{LogState, NodeProcess, NodeState};

/// Formats the terms of the last entries of each log. Committed entries are in boxes.
///
/// ```text
/// P1          … [1][1][2][2] 2   41 of 42 committed
/// P2  leader  … [1][1][2][2][2]  42 of 42 committed
/// P3  down
/// ```
pub(in crate::cmd::run) fn box_diagram(nodes: &[NodeProcess], leader: Option<ProcessId>) -> String {
    let mut rows = String::new();
    for node in nodes {
        let role = match node.state {
            NodeState::Down => "down",
            NodeState::Stopped => "stopped",
            NodeState::Booting => "booting",
            NodeState::Leaving => "leaving",
            NodeState::Running if leader == Some(node.process) => "leader",
            NodeState::Running => "",
        };
        let row = format!("  {:<4}{role:<12}{}", node.process.to_string(), row(&node.log_state));
        writeln!(rows, "{}", row.trim_end()).expect("a string takes everything");
    }
    rows
}

fn row(LogState { stored, committed, last_terms }: &LogState) -> String {
    let first = stored.saturating_sub(last_terms.len() as u64);
    let mut row = String::from(if first > 0 { "…" } else { "" });
    for (index, term) in (first + 1..).zip(last_terms) {
        let cell = if index <= *committed { format!("[{term}]") } else { format!(" {term} ") };
        row.push_str(&cell);
    }
    if *stored > 0 {
        write!(row, "  {committed} of {stored} committed").expect("a string takes everything");
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn committed_entries_are_in_boxes() {
        let log_state = LogState { stored: 5, committed: 3, last_terms: vec![1, 1, 2, 2] };
        assert_eq!(row(&log_state), "…[1][1] 2  2   3 of 5 committed");
        let log_state = LogState { stored: 1, committed: 1, last_terms: vec![7] };
        assert_eq!(row(&log_state), "[7]  1 of 1 committed");
        assert_eq!(row(&LogState::default()), "");
    }
}
