//! How nodes are, for a person.

use tenure_daemon::status::{Leading, NodeStatus};

use super::{Answer, Answers};
use crate::cmd::output::{width, wrapped};

/// Where the columns of the table end.
const COLUMNS: [usize; 6] = [6, 8, 8, 10, 9, 7];

/// The whole answer.
pub(super) fn table(answers: &Answers) -> String {
    let told = || answers.nodes.iter().filter_map(|answer| answer.status.as_ref());
    let mut lines = Vec::new();
    if let Some(one) = told().next() {
        let NodeStatus { cluster, size, mutex, election, .. } = one;
        lines.push(format!("{cluster}: {size} nodes, lock {mutex}, election {election}"));
    }
    lines.push(verdict(answers));
    lines.push(String::new());
    if told().next().is_some() {
        lines.push(row(["node", "follows", "term", "for", "entries", "links"].map(str::to_owned)));
    }
    for answer in &answers.nodes {
        lines.push(match &answer.status {
            Some(status) => row(cells(status)),
            None => format!("  {}  {}", name(answer), answer.error.as_deref().unwrap_or_default()),
        });
    }
    lines.extend(told().flat_map(remarks));
    let lines = lines.iter().flat_map(|line| broken(line));
    lines.map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// A line on as many as it takes; what begins with spaces goes on behind them.
fn broken(line: &str) -> Vec<String> {
    if line.chars().count() <= width() {
        return vec![line.to_owned()];
    }
    let text = line.trim_start();
    let indent = " ".repeat(line.len() - text.len());
    let lines = wrapped(text, width() - indent.len());
    lines.into_iter().map(|line| format!("{indent}{line}")).collect()
}

fn verdict(answers: &Answers) -> String {
    let told = || answers.nodes.iter().filter_map(|answer| answer.status.as_ref());
    if let Some(Leading { process, term, since, for_ms }) = &answers.leader {
        return format!("P{process} leads in term {term}, since {since} ({})", lasted(*for_ms));
    }
    match () {
        () if told().next().is_none() => "no node answers",
        () if told().all(|status| status.leader.is_none()) => "nobody leads",
        () => "they do not agree who leads",
    }
    .to_owned()
}

fn name(answer: &Answer) -> String {
    match (answer.node, &answer.page) {
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
        None => ["nobody", "", ""].map(str::to_owned),
        Some(leader) => {
            let itself = leader.process == status.process;
            let follows = if itself { "itself".into() } else { format!("P{}", leader.process) };
            [follows, leader.term.to_string(), lasted(leader.for_ms)]
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

/// What is wrong, as one node sees it.
fn remarks(status: &NodeStatus) -> Vec<String> {
    let me = status.process;
    let apart = status.links.iter().filter(|link| !link.connected).map(|link| {
        let why = link.error.as_deref().unwrap_or("it was never there");
        format!("  P{me} is not connected with P{}: {why}", link.process)
    });
    let refused = status.refused.iter().map(|(why, times)| {
        let times = if *times == 1 { "once".into() } else { format!("{times} times") };
        format!("  P{me} refused somebody {times}: {why}")
    });
    let mut remarks: Vec<String> = apart.chain(refused).collect();
    if status.traffic.overflowed > 0 {
        let lost = status.traffic.overflowed;
        remarks.push(format!("  P{me} lost {lost} messages, for which there was no more room"));
    }
    remarks
}

/// How long something has lasted, to two digits or so.
fn lasted(millis: u64) -> String {
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
    fn how_long_it_lasted_is_told_shortly() {
        let told = [999, 119_999, 120_000, 7_200_000, 172_800_000].map(lasted);
        assert_eq!(told, ["999 ms", "119 s", "2 min", "2 h", "2 days"]);
    }
}
