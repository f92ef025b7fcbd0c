//! The one table that a run prints.

use std::collections::BTreeMap;
use std::fmt::Write;

use tenure_core::Property;
use tenure_trace::{Cause, Election, Judgement, Violated};

use super::analysis::Injected;
use super::drive::Apart;
use super::summary::{Channel, Counter, Latency, MessagesPerEntry, Recovered, Summary};
use crate::cmd::output::{width, wrapped};

/// Where the second column begins.
const INDENT: usize = 22;

/// The table, ready to be printed.
pub(super) fn table(summary: &Summary) -> String {
    let mut table = Table::default();
    table.head(&head(summary));
    table.work(summary);
    table.elections(&summary.elections);
    table.partitions(&summary.partitions);
    table.judgement(summary);
    if let Some(directory) = &summary.directory {
        table.row("files", directory);
    }
    table.finish()
}

fn head(summary: &Summary) -> String {
    let Summary { nodes, mutex, election, seed, seconds, .. } = summary;
    let lock = if summary.lock { format!("lock {mutex}") } else { "no lock".into() };
    let many = if *nodes == 1 { "node" } else { "nodes" };
    let fifo = if summary.channel.is_some() { " over fifo" } else { "" };
    let ended = if summary.interrupted { ", interrupted" } else { "" };
    format!(
        "{nodes} {many}, {lock}{fifo}, election {election}, {seconds:.1} s of work, seed \
         {seed}{ended}"
    )
}

/// What was judged: by judgement, the names of those properties.
pub(super) fn verdicts(
    verdicts: &BTreeMap<Property, Judgement>,
    not_promised: &[Property],
    named: impl Fn(Property) -> &'static str,
) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    for judgement in [Judgement::Holds, Judgement::Incomplete, Judgement::Violated] {
        let same = verdicts
            .iter()
            .filter(|(property, it)| **it == judgement && !not_promised.contains(property));
        let same: Vec<&str> = same.map(|(property, _)| named(*property)).collect();
        if !same.is_empty() {
            rows.push((judgement.name(), same.join(", ")));
        }
    }
    if !not_promised.is_empty() {
        let names: Vec<&str> = not_promised.iter().map(|it| it.name()).collect();
        let they = if names.len() == 1 { "it" } else { "they" };
        rows.push(("not promised", format!("{}, and {they} did not hold", names.join(", "))));
    }
    rows
}

/// A table of rows, each with a name.
#[derive(Debug, Default)]
pub(super) struct Table(String);

impl Table {
    /// A name and what there is to say, on as many lines as it takes.
    pub(super) fn row(&mut self, name: &str, says: &str) {
        let mut name = name;
        for line in wrapped(says, width() - INDENT) {
            let width = INDENT - 2;
            writeln!(self.0, "  {name:<width$}{line}").expect("a string takes everything");
            name = "";
        }
    }

    /// What ran, above all rows.
    pub(super) fn head(&mut self, says: &str) {
        self.0.push_str(&wrapped(says, width()).join("\n"));
        self.0.push_str("\n\n");
    }

    /// The table as text.
    pub(super) fn finish(self) -> String {
        self.0
    }

    /// How long something took.
    pub(super) fn latency(&mut self, name: &str, latency: Option<Latency>) {
        if let Some(Latency { p50, p99, max }) = latency {
            let says = format!("p50 {}   p99 {}   max {}", millis(p50), millis(p99), millis(max));
            self.row(name, &says);
        }
    }

    fn work(&mut self, summary: &Summary) {
        self.row("entries", &grouped(summary.entries));
        self.row("entries per second", &grouped(summary.entries_per_second.round() as u64));
        self.latency("entry latency", summary.latency_ms);
        if let Some(messages) = &summary.messages_per_entry {
            let MessagesPerEntry { measured, formula, away_from_coordinator, .. } = messages;
            let away = away_from_coordinator
                .map_or(String::new(), |away| format!(" ({away:.2} away from the coordinator)"));
            let theory = match formula.is_empty() {
                true => String::new(),
                false => format!("; the card says {formula}"),
            };
            self.row("messages per entry", &format!("{measured:.2}{away}{theory}"));
        }
        if let Some(channel) = &summary.channel {
            self.channel(channel);
        }
    }

    fn channel(&mut self, channel: &Channel) {
        let Injected { lost, lost_repairs, duplicated } = channel.injected;
        let (lost, lost_repairs) = (grouped(lost), grouped(lost_repairs));
        let duplicated = grouped(duplicated);
        let says = format!(
            "{lost} messages lost, {lost_repairs} repeats and acknowledgements lost, \
             {duplicated} duplicated"
        );
        self.row("injected", &says);
        let Recovered { repeats, acknowledgements } = channel.recovered;
        let (repeats, acknowledgements) = (grouped(repeats), grouped(acknowledgements));
        let says = format!("by {repeats} repeats and {acknowledgements} acknowledgements");
        self.row("recovered", &says);
    }

    /// The changes of leader. A leader that is elected again shows only by its terms.
    pub(super) fn elections(&mut self, elections: &[Election]) {
        if elections.is_empty() {
            self.row("elections", "none");
        }
        let reigns = elections.chunk_by(|one, next| one.leader == next.leader);
        for (place, reign) in reigns.enumerate() {
            let [Election { at, ms, leader, term, cause }, ..] = reign else { continue };
            let cause = match cause {
                Cause::Start => "at the start",
                Cause::Crash => "after the leader was killed",
                Cause::Stop => "after the leader was stopped",
                Cause::Partition => "after the leader was cut off",
                Cause::Takeover => "after it took over",
            };
            let terms = match reign {
                [_, .., last] => format!("terms {term} to {}", last.term),
                _ => format!("term {term}"),
            };
            let name = if place == 0 { "elections" } else { "" };
            let (at, ms) = (at / 1e3, millis(*ms));
            self.row(name, &format!("at {at:>6.2} s   P{leader} leads in {ms} {cause} ({terms})"));
        }
    }

    pub(super) fn partitions(&mut self, partitions: &[Apart]) {
        for (place, Apart { at, ms, side }) in partitions.iter().enumerate() {
            let names: Vec<String> = side.iter().map(|number| format!("P{number}")).collect();
            let name = if place == 0 { "partitions" } else { "" };
            let (at, seconds, side) = (at / 1e3, ms / 1e3, names.join(" "));
            self.row(name, &format!("at {at:>6.2} s   {side} cut off for {seconds:.2} s"));
        }
    }

    /// What the counter should hold, and does.
    pub(super) fn counter(&mut self, Counter { expected, found, lost }: Counter) {
        let (expected, found) = (grouped(expected), grouped(found));
        let lost = match lost {
            0 => "none lost".into(),
            lost => {
                format!("{}{} LOST", if lost < 0 { "−" } else { "" }, grouped(lost.unsigned_abs()))
            }
        };
        self.row("counter", &format!("expected {expected}, found {found}, {lost}"));
    }

    fn judgement(&mut self, summary: &Summary) {
        self.counter(summary.counter);
        self.row(
            "refused",
            &match summary.refused {
                0 => "none".into(),
                1 => "1 access, for its old fence".into(),
                refused => format!("{} accesses, for their old fences", grouped(refused)),
            },
        );
        self.row(
            "overlaps",
            &match summary.overlaps {
                0 => "none".into(),
                overlaps => {
                    let pairs = if overlaps == 1 { "pair" } else { "pairs" };
                    let what = match summary.is_mended() {
                        true => "refused whoever was late",
                        false => "let some of them in",
                    };
                    let overlaps = grouped(overlaps);
                    format!("{overlaps} {pairs} of entries, say the nodes; the resource {what}")
                }
            },
        );
        self.verdicts(summary);
    }

    fn verdicts(&mut self, summary: &Summary) {
        let named = |property| summary.named(property);
        let rows = verdicts(&summary.verdicts, &summary.not_promised, named);
        rows.iter().for_each(|(name, says)| self.row(name, says));
        let alone =
            "there was no lock and no fence: the control experiment, which must lose updates";
        let alone = (!summary.lock).then(|| alone.to_owned());
        let notes: Vec<String> = summary.notes.iter().cloned().chain(alone).collect();
        self.verdict(&notes, &summary.violated);
    }

    /// Remarks, and what was violated.
    pub(super) fn verdict(&mut self, notes: &[String], violated: &[Violated]) {
        for note in notes {
            self.row("note", note);
        }
        for violated in violated {
            let (at, says) = (violated.at / 1e3, &violated.says);
            self.row("VIOLATED", &format!("{} at {at:.2} s: {says}", violated.property));
        }
        let many = violated.len();
        self.row("violations", &if many == 0 { "none".into() } else { many.to_string() });
    }
}

/// A number with its digits in threes.
pub(super) fn grouped(number: u64) -> String {
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

/// Milliseconds with as many digits as say something.
pub(super) fn millis(ms: f64) -> String {
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
    fn numbers_are_grouped_in_threes() {
        for (number, shown) in [(0, "0"), (999, "999"), (1_000, "1 000"), (1_234_567, "1 234 567")]
        {
            assert_eq!(grouped(number), shown);
        }
    }
}
