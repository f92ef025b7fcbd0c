//! The logs of all nodes while they run, a row of boxes each.

use std::fmt::Write;

use tenure_core::ProcessId;

use crate::cmd::run::member::{Known, Life, Member};

/// The last entries of each log, by their terms: those in boxes are known to be committed.
///
/// ```text
/// P1          … [1][1][2][2] 2   41 of 42 committed
/// P2  leads   … [1][1][2][2][2]  42 of 42 committed
/// P3  is down
/// ```
pub(in crate::cmd::run) fn boxes(members: &[Member], leader: Option<ProcessId>) -> String {
    let mut rows = String::new();
    for member in members {
        let role = match member.life {
            Life::Down => "is down",
            Life::Stopped => "is stopped",
            Life::Booting => "boots",
            Life::Leaving => "leaves",
            Life::Running if leader == Some(member.process) => "leads",
            Life::Running => "",
        };
        let row = format!("  {:<4}{role:<12}{}", member.process.to_string(), row(&member.known));
        writeln!(rows, "{}", row.trim_end()).expect("a string takes everything");
    }
    rows
}

fn row(Known { stored, committed, last_terms }: &Known) -> String {
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
    fn what_is_committed_stands_in_boxes() {
        let known = Known { stored: 5, committed: 3, last_terms: vec![1, 1, 2, 2] };
        assert_eq!(row(&known), "…[1][1] 2  2   3 of 5 committed");
        let known = Known { stored: 1, committed: 1, last_terms: vec![7] };
        assert_eq!(row(&known), "[7]  1 of 1 committed");
        assert_eq!(row(&Known::default()), "");
    }
}
