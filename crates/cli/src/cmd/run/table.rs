//! Formats the result of a run of nodes as a table.

use std::collections::BTreeMap;

use tenure_core::Property;
use tenure_trace::{ElectionCause, Judgement, MeasuredElection, TraceViolation};

use super::analysis::InjectedFaultCounts;
use super::drive::PartitionRecord;
use super::summary::{
    ChannelFaultStats, CounterCheck, LatencyQuantiles, MessagesPerEntry, NodeRunSummary,
    RecoveryMessages,
};
use crate::cmd::rows::LabelledRows;

/// Column of the table at which the text of a row begins, in characters.
pub(super) const TEXT_COLUMN: usize = 28;

pub(super) fn table(summary: &NodeRunSummary) -> String {
    let mut table = LabelledRows::with_text_column(&head(summary), TEXT_COLUMN);
    table.add_work_rows(summary);
    table.add_election_rows(&summary.elections);
    table.add_partition_rows(&summary.partitions);
    table.add_judgement_rows(summary);
    table.into_text_with_files(summary.directory.as_deref())
}

fn head(summary: &NodeRunSummary) -> String {
    let NodeRunSummary { nodes, mutex, election, seed, seconds, .. } = summary;
    let lock = if summary.lock { format!("lock {mutex}") } else { "no lock".into() };
    let many = if *nodes == 1 { "node" } else { "nodes" };
    let fifo = if summary.channel.is_some() { " over fifo" } else { "" };
    let ended = if summary.interrupted { ", interrupted" } else { "" };
    format!(
        "{nodes} {many}, {lock}{fifo}, election {election}, {seconds:.1} s of work, seed \
         {seed}{ended}"
    )
}

/// Returns one row for each verdict that occurs. The row lists the properties with this verdict.
/// The properties in `not_promised` have a row of their own.
fn verdicts(
    verdicts: &BTreeMap<Property, Judgement>,
    not_promised: &[Property],
    label_of: impl Fn(Property) -> &'static str,
) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    for judgement in [Judgement::Holds, Judgement::Incomplete, Judgement::Violated] {
        let same = verdicts
            .iter()
            .filter(|(property, it)| **it == judgement && !not_promised.contains(property));
        let same: Vec<&str> = same.map(|(property, _)| label_of(*property)).collect();
        if !same.is_empty() {
            rows.push((judgement.name(), same.join(", ")));
        }
    }
    if !not_promised.is_empty() {
        let names: Vec<&str> = not_promised.iter().map(|it| it.name()).collect();
        rows.push(("not promised", format!("{} (violated)", names.join(", "))));
    }
    rows
}

impl LabelledRows {
    pub(super) fn into_text_with_files(mut self, directory: Option<&str>) -> String {
        if let Some(directory) = directory {
            self.add_row("files", directory);
        }
        self.into_text()
    }

    pub(super) fn add_latency_row(&mut self, name: &str, latency: Option<LatencyQuantiles>) {
        if let Some(LatencyQuantiles { p50, p99, max }) = latency {
            let text = format!(
                "p50 {}   p99 {}   max {}",
                format_millis(p50),
                format_millis(p99),
                format_millis(max)
            );
            self.add_row(name, &text);
        }
    }

    fn add_work_rows(&mut self, summary: &NodeRunSummary) {
        self.add_row("critical-section entries", &group_digits(summary.entries));
        self.add_row(
            "entries per second",
            &group_digits(summary.entries_per_second.round() as u64),
        );
        self.add_latency_row("entry latency", summary.latency_ms);
        if let Some(messages) = &summary.messages_per_entry {
            let MessagesPerEntry { measured, formula, away_from_coordinator, .. } = messages;
            let away = away_from_coordinator.map_or(String::new(), |away| {
                format!(" ({away:.2} at other processes than the coordinator)")
            });
            let theory = match formula.is_empty() {
                true => String::new(),
                false => format!("; card: {formula}"),
            };
            self.add_row("messages per entry", &format!("{measured:.2}{away}{theory}"));
        }
        if let Some(channel) = &summary.channel {
            self.add_channel_rows(channel);
        }
    }

    fn add_channel_rows(&mut self, channel: &ChannelFaultStats) {
        let InjectedFaultCounts { lost, lost_repairs, duplicated } = channel.injected;
        let (lost, lost_repairs) = (group_digits(lost), group_digits(lost_repairs));
        let duplicated = group_digits(duplicated);
        let text = format!(
            "{lost} messages lost, {lost_repairs} repeats and acknowledgements lost, \
             {duplicated} duplicated"
        );
        self.add_row("injected faults", &text);
        let RecoveryMessages { repeats, acknowledgements } = channel.recovered;
        let (repeats, acknowledgements) = (group_digits(repeats), group_digits(acknowledgements));
        let text = format!("{repeats} repeats and {acknowledgements} acknowledgements");
        self.add_row("recovery", &text);
    }

    /// Adds a row for each elected leader. Consecutive elections of the same leader share one row,
    /// which shows the range of their terms and the time of the first of them.
    fn add_election_rows(&mut self, elections: &[MeasuredElection]) {
        if elections.is_empty() {
            self.add_row("leader elections", "none");
        }
        let tenures = elections.chunk_by(|one, next| one.leader == next.leader);
        for (place, tenure) in tenures.enumerate() {
            let [MeasuredElection { at, ms, leader, term, cause }, ..] = tenure else { continue };
            let cause = match cause {
                ElectionCause::Start => "after the start",
                ElectionCause::Crash => "after the leader was killed",
                ElectionCause::Stop => "after the leader was suspended",
                ElectionCause::Partition => "after the leader was partitioned",
                ElectionCause::Takeover => "by takeover",
            };
            let terms = match tenure {
                [_, .., last] => format!("terms {term} to {}", last.term),
                _ => format!("term {term}"),
            };
            let name = if place == 0 { "leader elections" } else { "" };
            let (at, ms) = (at / 1e3, format_millis(*ms));
            self.add_row(
                name,
                &format!("at {at:>6.2} s   P{leader} elected in {ms} {cause} ({terms})"),
            );
        }
    }

    pub(super) fn add_partition_rows(&mut self, partitions: &[PartitionRecord]) {
        for (place, PartitionRecord { at, ms, side }) in partitions.iter().enumerate() {
            let names: Vec<String> = side.iter().map(|number| format!("P{number}")).collect();
            let name = if place == 0 { "partitions" } else { "" };
            let (at, seconds, side) = (at / 1e3, ms / 1e3, names.join(" "));
            self.add_row(name, &format!("at {at:>6.2} s   {side} isolated for {seconds:.2} s"));
        }
    }

    pub(super) fn add_lost_updates_row(
        &mut self,
        CounterCheck { expected, found, lost }: CounterCheck,
    ) {
        let (expected, found) = (group_digits(expected), group_digits(found));
        let lost = match lost {
            0 => "0".into(),
            lost => {
                format!(
                    "{}{} LOST",
                    if lost < 0 { "−" } else { "" },
                    group_digits(lost.unsigned_abs())
                )
            }
        };
        self.add_row(
            "lost updates",
            &format!("{lost} (expected counter {expected}, found {found})"),
        );
    }

    fn add_judgement_rows(&mut self, summary: &NodeRunSummary) {
        self.add_lost_updates_row(summary.counter);
        self.add_row(
            "rejected accesses",
            &match summary.refused {
                0 => "none".into(),
                1 => "1, with a stale fencing token".into(),
                refused => format!("{}, with stale fencing tokens", group_digits(refused)),
            },
        );
        self.add_row(
            "overlapping entries",
            &match summary.overlaps {
                0 => "none".into(),
                overlaps => {
                    let pairs = if overlaps == 1 { "pair" } else { "pairs" };
                    let outcome = match summary.is_resource_protected() {
                        true => "rejected the late accesses",
                        false => "accepted some of them",
                    };
                    let overlaps = group_digits(overlaps);
                    format!("{overlaps} {pairs} of entries by the nodes; the resource {outcome}")
                }
            },
        );
        self.add_verdict_rows(summary);
    }

    fn add_verdict_rows(&mut self, summary: &NodeRunSummary) {
        let label_of = |property| summary.property_label(property);
        let rows = verdicts(&summary.verdicts, &summary.not_promised, label_of);
        rows.iter().for_each(|(name, text)| self.add_row(name, text));
        let violated =
            summary.violated.iter().map(|TraceViolation { property, at, description, .. }| {
                format!("{property} at {:.2} s: {description}", at / 1e3)
            });
        self.add_notes_and_violations(&summary.notes, summary.lock, violated.collect());
    }

    pub(super) fn add_notes_and_violations(
        &mut self,
        notes: &[String],
        has_lock: bool,
        violated: Vec<String>,
    ) {
        let control = "control experiment without a lock and fencing tokens: updates must get lost";
        for note in notes.iter().map(String::as_str).chain((!has_lock).then_some(control)) {
            self.add_row("note", note);
        }
        for violated in &violated {
            self.add_row("VIOLATED", violated);
        }
        let many = violated.len();
        self.add_row("violations", &if many == 0 { "none".into() } else { many.to_string() });
    }
}

/// Formats a number with a space between groups of three digits.
pub(super) fn group_digits(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats a duration in milliseconds with two, one or no digits after the decimal point. Longer
/// durations have fewer digits.
pub(super) fn format_millis(ms: f64) -> String {
    match ms {
        _ if ms < 10.0 => format!("{ms:.2} ms"),
        _ if ms < 100.0 => format!("{ms:.1} ms"),
        _ => format!("{ms:.0} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_digits_in_threes() {
        for (number, shown) in [(0, "0"), (999, "999"), (1_000, "1 000"), (1_234_567, "1 234 567")]
        {
            assert_eq!(group_digits(number), shown);
        }
    }
}
