//! What happened, in figures.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use tenure_core::{Layer, ProcessId, Property};
use tenure_trace::{Election, Judgement, Quantiles, Verification, Violated};

use super::analysis::{Analysis, Coordinator, Injected};
use super::drive::{Apart, Course};
use super::judging::Judged;
use super::plan::Plan;

/// What is said of a pause under a card that needs a detector that is never wrong.
const MISLED: &str = "somebody was stopped or cut off and not dead, and the card needs a failure \
                      detector that is never wrong: two may be inside then, and what counts is \
                      what the resource let in";

/// What is said of the network where it was cut.
const WIRED: &str = "the nodes were connected through this command, which cut them: entries take \
                     longer than without --partition, and the resource was in reach of both sides";

/// The result of a run. Scripts depend on the names; more may be added.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Summary {
    pub(super) nodes: u32,
    pub(super) mutex: String,
    pub(super) election: String,
    pub(super) seed: u64,
    /// Whether there was a lock at all.
    pub(super) lock: bool,
    /// From the first access of the resource to the last.
    pub(super) seconds: f64,
    pub(super) entries: u64,
    pub(super) entries_per_second: f64,
    pub(super) latency_ms: Option<Latency>,
    pub(super) messages_per_entry: Option<MessagesPerEntry>,
    pub(super) elections: Vec<Election>,
    /// Who was cut off from all others, and when.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) partitions: Vec<Apart>,
    pub(super) counter: Counter,
    pub(super) refused: u64,
    pub(super) overlaps: u64,
    /// How many of the following there are.
    pub(super) violations: usize,
    pub(super) violated: Vec<Violated>,
    pub(super) verdicts: BTreeMap<Property, Judgement>,
    /// Which of the verdicts are about what nobody promised, and so count for nothing.
    pub(super) not_promised: Vec<Property>,
    /// Whether the machine was too late to say if there was progress.
    #[serde(skip)]
    pub(super) undecided: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) channel: Option<Channel>,
    pub(super) crashes: u64,
    pub(super) interrupted: bool,
    pub(super) notes: Vec<String>,
    pub(super) records: u64,
    /// Where the files are, if they were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) directory: Option<String>,
}

/// From asking to entering, in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Latency {
    pub(super) p50: f64,
    pub(super) p99: f64,
    pub(super) max: f64,
}

/// Messages of the lock itself: no elections, no heartbeats, no repairs of a channel.
#[derive(Clone, Debug, Serialize)]
pub(super) struct MessagesPerEntry {
    pub(super) measured: f64,
    /// The most that the card allows.
    pub(super) card: Option<u64>,
    /// The same as people write it.
    pub(super) formula: &'static str,
    /// The same, of entries by others than whoever coordinates the lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) away_from_coordinator: Option<f64>,
}

/// The counter that everybody incremented.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Counter {
    pub(super) expected: u64,
    pub(super) found: u64,
    pub(super) lost: i64,
}

/// What the reliable channel was made to bear, and what it did about it.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Channel {
    pub(super) injected: Injected,
    pub(super) recovered: Recovered,
}

/// What the reliable channel sent to recover.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Recovered {
    pub(super) repeats: u64,
    pub(super) acknowledgements: u64,
}

impl Summary {
    /// What came of a run, and of judging it.
    pub(super) fn new(plan: &Plan, judged: Judged, course: Course) -> Summary {
        let Judged { verification, analysis, .. } = judged;
        let mut violated = violated(&course, &verification);
        let late = course.late.and_then(|late| undecided(&mut violated, late));
        let mut notes = course.notes;
        let undecided = late.is_some();
        notes.extend(late);
        if plan.promises.len() < plan.card.promises.len() {
            notes.push(MISLED.to_owned());
        }
        if !plan.cuts.is_empty() {
            notes.push(WIRED.to_owned());
        }
        let idle = verification.violations.iter().filter(|violated| !violated.counts);
        let not_promised = idle.map(|violated| violated.property).collect();
        let counter = verification.counter.map_or(Counter::default(), |it| Counter {
            expected: it.expected,
            found: it.found,
            lost: it.lost,
        });
        let entries = if plan.lock { verification.entries } else { counter.expected };
        let seconds = analysis.seconds();
        let rate = if seconds > 0.0 { entries as f64 / seconds } else { 0.0 };
        let messages = messages(plan, &analysis, &verification);
        let channel = plan.fifo.then(|| channel(&analysis, &verification));
        Summary {
            nodes: plan.size,
            mutex: plan.service.mutex.clone(),
            election: plan.service.election.clone(),
            seed: plan.seed,
            lock: plan.lock,
            seconds: thousandths(seconds),
            entries,
            entries_per_second: thousandths(rate),
            latency_ms: (verification.entries > 0).then(|| latency(verification.latency)),
            messages_per_entry: messages,
            elections: verification.elections.into_iter().map(rounded).collect(),
            partitions: course.apart,
            counter,
            refused: verification.accesses.refused,
            overlaps: verification.overlaps,
            violations: violated.len(),
            verdicts: verdicts(verification.properties, &violated, undecided || course.interrupted),
            violated,
            undecided,
            not_promised,
            channel,
            crashes: verification.crashes,
            interrupted: course.interrupted,
            notes,
            records: verification.records,
            directory: None,
        }
    }

    /// Whether overlaps, if there are any, were none at the resource.
    pub(super) fn is_mended(&self) -> bool {
        let holds = |property| self.verdicts.get(&property) == Some(&Judgement::Holds);
        holds(Property::MutualExclusion) && holds(Property::FencedAccess)
    }

    /// The name of a verdict. Where entries overlapped, it is not the nodes who were alone.
    pub(super) fn named(&self, property: Property) -> &'static str {
        match property {
            Property::MutualExclusion if self.overlaps > 0 && self.is_mended() => {
                "mutual-exclusion (at the resource)"
            }
            property => property.name(),
        }
    }

    /// Whether nothing was violated and no update lost.
    pub(super) fn held(&self) -> bool {
        self.violations == 0 && self.counter.lost == 0
    }
}

/// The violations that count, and whoever waited for ever.
fn violated(course: &Course, verification: &Verification) -> Vec<Violated> {
    let counting = verification.violations.iter().filter(|violated| violated.counts);
    let mut violated: Vec<_> = counting.cloned().collect();
    let mut add = |property, says| {
        violated.push(Violated { property, at: verification.duration, says, counts: true });
    };
    if !course.unfinished.is_empty() && !course.interrupted {
        let names: Vec<_> = course.unfinished.iter().map(ProcessId::to_string).collect();
        add(Property::StarvationFreedom, format!("{} did not come to an end", names.join(", ")));
    }
    violated
}

/// Removes violations of liveness where the machine was late all the while, and returns the note
/// that says so.
pub(super) fn undecided(violated: &mut Vec<Violated>, late: Duration) -> Option<String> {
    let waits = |it: &mut Violated| it.property.is_of_liveness();
    let says = violated.extract_if(.., waits).last()?.says;
    let late = late.as_millis();
    Some(format!("{says}, on a machine that was late by up to {late} ms: that decides nothing"))
}

/// What traces say of each property, unless it is known to be violated by what no trace says: that
/// somebody waited for ever; or that is not known.
fn verdicts(
    mut judged: BTreeMap<Property, Judgement>,
    violated: &[Violated],
    undecided: bool,
) -> BTreeMap<Property, Judgement> {
    judged.extend(undecided.then_some((Property::StarvationFreedom, Judgement::Incomplete)));
    judged.extend(violated.iter().map(|it| (it.property, Judgement::Violated)));
    judged
}

fn messages(
    plan: &Plan,
    analysis: &Analysis,
    verification: &Verification,
) -> Option<MessagesPerEntry> {
    let entries = verification.entries;
    if entries == 0 {
        return None;
    }
    let sent = verification.messages.sent_in(Layer::Mutex) as f64;
    let per = |entries: u64| thousandths(sent / entries as f64);
    let away = analysis.entries_away;
    let apart = plan.coordinator != Coordinator::Nobody && away > 0;
    Some(MessagesPerEntry {
        measured: per(entries),
        card: plan.card.messages.most,
        formula: plan.card.messages.formula,
        away_from_coordinator: apart.then(|| per(away)),
    })
}

fn channel(analysis: &Analysis, verification: &Verification) -> Channel {
    let sent = |kind: &str| {
        let kinds = verification.messages.sent.get(&Layer::Channel);
        kinds.and_then(|kinds| kinds.get(kind)).copied().unwrap_or(0)
    };
    let recovered = Recovered { repeats: sent("repeat"), acknowledgements: sent("acknowledge") };
    Channel { injected: analysis.injected, recovered }
}

fn latency(quantiles: Quantiles) -> Latency {
    let Quantiles { p50, p99, max, .. } = quantiles;
    Latency { p50: thousandths(p50), p99: thousandths(p99), max: thousandths(max) }
}

pub(super) fn rounded(election: Election) -> Election {
    Election { at: thousandths(election.at), ms: thousandths(election.ms), ..election }
}

/// To three digits after the point: what is behind is noise.
pub(super) fn thousandths(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_violated_does_not_hold_besides() {
        let judged =
            [Property::StarvationFreedom, Property::Fencing].map(|it| (it, Judgement::Holds));
        let says = "P2 did not come to an end".to_owned();
        let waited =
            Violated { property: Property::StarvationFreedom, at: 17.0, says, counts: true };
        let mut violated = vec![waited];
        let known = verdicts(judged.into(), &violated, false);
        assert_eq!(known[&Property::StarvationFreedom], Judgement::Violated);
        assert_eq!(known[&Property::Fencing], Judgement::Holds);
        let says = undecided(&mut violated, Duration::from_millis(90));
        assert!(says.is_some_and(|says| says.contains("late by up to 90 ms")));
        let known = verdicts(judged.into(), &violated, true);
        assert_eq!(known[&Property::StarvationFreedom], Judgement::Incomplete);
        assert_eq!(undecided(&mut violated, Duration::from_millis(90)), None, "nobody waited");
    }
}
