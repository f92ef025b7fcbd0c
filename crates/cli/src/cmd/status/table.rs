//! Formats the status of a cluster as a table.

use tenure_daemon::status::{LeaderInfo, NodeStatus};

use super::{ClusterStatus, Response};
use crate::cmd::output::{line_width, wrap};

/// Widths of the columns, in characters.
const COLUMNS: [usize; 6] = [6, 8, 8, 10, 9, 7];

pub(super) fn table(cluster: &ClusterStatus) -> String {
    let responses = || cluster.nodes.iter().filter_map(|response| response.status.as_ref());
    let mut lines = Vec::new();
    if let Some(one) = responses().next() {
        let NodeStatus { cluster, size, mutex, election, .. } = one;
        lines.push(format!("{cluster}: {size} nodes, lock {mutex}, election {election}"));
    }
    lines.push(leader_line(cluster));
    lines.push(String::new());
    if responses().next().is_some() {
        lines.push(row(["node", "follows", "term", "for", "entries", "links"].map(str::to_owned)));
    }
    for response in &cluster.nodes {
        lines.push(match &response.status {
            Some(status) => row(cells(status)),
            None => {
                format!("  {}  {}", name(response), response.error.as_deref().unwrap_or_default())
            }
        });
    }
    lines.extend(responses().flat_map(warnings));
    let lines = lines.iter().flat_map(|line| wrap_line(line));
    lines.map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// Wraps a line to the width of the terminal. All resulting lines have the indentation of `line`.
fn wrap_line(line: &str) -> Vec<String> {
    if line.chars().count() <= line_width() {
        return vec![line.to_owned()];
    }
    let text = line.trim_start();
    let indent = " ".repeat(line.len() - text.len());
    let lines = wrap(text, line_width() - indent.len());
    lines.into_iter().map(|line| format!("{indent}{line}")).collect()
}

fn leader_line(cluster: &ClusterStatus) -> String {
    let responses = || cluster.nodes.iter().filter_map(|response| response.status.as_ref());
    if let Some(LeaderInfo { process, term, since, for_ms }) = &cluster.leader {
        return format!(
            "P{process} is the leader in term {term}, since {since} ({})",
            format_age(*for_ms)
        );
    }
    match () {
        () if responses().next().is_none() => "no node responded",
        () if responses().all(|status| status.leader.is_none()) => "no leader",
        () => "the nodes disagree on the leader",
    }
    .to_owned()
}

fn name(response: &Response) -> String {
    match (response.node, &response.page) {
        (Some(node), _) => format!("P{node}"),
        (None, Some(page)) => page.clone(),
        (None, None) => "?".to_owned(),
    }
}

fn cells(status: &NodeStatus) -> [String; 6] {
    let up = status.links.iter().filter(|link| link.connected).count();
    let links = format!("{up}/{}", status.links.len());
    let node = format!("P{}", status.process);
    let entries = status.lock.entries.to_string();
    let [follows, term, since] = match &status.leader {
        None => ["-", "", ""].map(str::to_owned),
        Some(leader) => {
            let itself = leader.process == status.process;
            let follows = if itself { "itself".into() } else { format!("P{}", leader.process) };
            [follows, leader.term.to_string(), format_age(leader.for_ms)]
        }
    };
    [node, follows, term, since, entries, links]
}

fn row(cells: [String; 6]) -> String {
    let mut line = String::from("  ");
    for (place, (cell, width)) in cells.into_iter().zip(COLUMNS).enumerate() {
        let cell = if place < 2 { format!("{cell:<width$}") } else { format!("{cell:>width$}") };
        line.push_str(&cell);
    }
    line
}

fn warnings(status: &NodeStatus) -> Vec<String> {
    let me = status.process;
    let apart = status.links.iter().filter(|link| !link.connected).map(|link| {
        let reason = link.error.as_deref().unwrap_or("never connected");
        format!("  P{me} has no connection to P{}: {reason}", link.process)
    });
    let refused = status.refused.iter().map(|(reason, times)| {
        let times = if *times == 1 { "once".into() } else { format!("{times} times") };
        format!("  P{me} rejected connections {times}: {reason}")
    });
    let mut warnings: Vec<String> = apart.chain(refused).collect();
    if status.traffic.overflowed > 0 {
        let lost = status.traffic.overflowed;
        warnings.push(format!("  P{me} dropped {lost} messages: the send queue was full"));
    }
    warnings
}

/// Formats a duration in milliseconds as a whole number of milliseconds, seconds, minutes, hours or
/// days, rounded down.
fn format_age(millis: u64) -> String {
    let seconds = millis / 1000;
    match seconds {
        0 => format!("{millis} ms"),
        1..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_ages_with_two_digits() {
        let ages = [999, 119_999, 120_000, 7_200_000, 172_800_000].map(format_age);
        assert_eq!(ages, ["999 ms", "119 s", "2 min", "2 h", "2 days"]);
    }
}
