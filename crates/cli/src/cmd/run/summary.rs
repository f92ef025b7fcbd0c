//! The figures and verdicts of a run of real processes.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use tenure_core::{Layer, ProcessId, Property};
use tenure_trace::{Judgement, MeasuredElection, Quantiles, TraceViolation, Verification};

use super::analysis::{CoordinatorKind, InjectedFaultCounts, RunFigures};
use super::drive::{PartitionRecord, RunObservations};
use super::plan::NodeRunPlan;
use super::verifier::VerifiedRun;

const FALSE_SUSPICION_NOTE: &str = "a live process was suspended or partitioned, and the card \
                                    needs a perfect failure detector: two processes may hold the \
                                    lock, and only accesses to the resource count";

const PARTITION_NOTE: &str = "the nodes were connected through proxies of this command: entries \
                              take longer than without --partition, and both sides could reach \
                              the resource";

/// The result of a run. Scripts depend on its JSON keys; later releases may add keys.
#[derive(Clone, Debug, Serialize)]
pub(super) struct NodeRunSummary {
    pub(super) nodes: u32,
    pub(super) mutex: String,
    pub(super) election: String,
    pub(super) seed: u64,
    /// True if the nodes use the lock. With `--no-lock`, the nodes enter without the lock, and
    /// updates can get lost.
    pub(super) lock: bool,
    /// Time between the first and the last access to the resource, in seconds.
    pub(super) seconds: f64,
    pub(super) entries: u64,
    pub(super) entries_per_second: f64,
    pub(super) latency_ms: Option<LatencyQuantiles>,
    pub(super) messages_per_entry: Option<MessagesPerEntry>,
    pub(super) elections: Vec<MeasuredElection>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) partitions: Vec<PartitionRecord>,
    pub(super) counter: CounterCheck,
    pub(super) refused: u64,
    pub(super) overlaps: u64,
    pub(super) violations: usize,
    pub(super) violated: Vec<TraceViolation>,
    pub(super) verdicts: BTreeMap<Property, Judgement>,
    /// Violated properties that the run does not require, because the lock does not promise them
    /// under the faults of this run. These violations do not make the run fail.
    pub(super) not_promised: Vec<Property>,
    /// True if liveness properties were violated, but the machine was too slow. The run then does
    /// not decide these properties.
    #[serde(skip)]
    pub(super) undecided: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) channel: Option<ChannelFaultStats>,
    pub(super) crashes: u64,
    pub(super) interrupted: bool,
    pub(super) notes: Vec<String>,
    pub(super) records: u64,
    /// Directory of the run's files; `None` if they were removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) directory: Option<String>,
}

/// Quantiles of the time from the request of a process for the lock to the entry of this process,
/// in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct LatencyQuantiles {
    pub(super) p50: f64,
    pub(super) p99: f64,
    pub(super) max: f64,
}

/// Number of messages that the lock algorithm sends per critical-section entry. The number includes
/// no heartbeats, no repeated messages, and no messages of elections.
#[derive(Clone, Debug, Serialize)]
pub(super) struct MessagesPerEntry {
    pub(super) measured: f64,
    /// Upper bound that the [`Card`](tenure_core::Card) of the lock states. `None` if the card
    /// states no upper bound.
    pub(super) card: Option<u64>,
    /// Formula for the number of messages on the card of the lock. Empty if the card has none.
    pub(super) formula: &'static str,
    /// Number of messages of all entries, divided by the number of entries of processes other than
    /// the coordinator, because entries of the coordinator need no messages. `None` if the lock has
    /// no coordinator, or if no other process has entered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) away_from_coordinator: Option<f64>,
}

/// Check of the counter that the processes increment while they hold the lock. `expected` is the
/// number of accepted increments, and `found` is the final value of the counter. `lost` is
/// `expected` minus `found`.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct CounterCheck {
    pub(super) expected: u64,
    pub(super) found: u64,
    pub(super) lost: i64,
}

/// Faults that were injected below the reliable channel, and the messages by which the channel
/// recovered from these faults.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct ChannelFaultStats {
    pub(super) injected: InjectedFaultCounts,
    pub(super) recovered: RecoveryMessages,
}

#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct RecoveryMessages {
    pub(super) repeats: u64,
    pub(super) acknowledgements: u64,
}

impl NodeRunSummary {
    pub(super) fn new(
        plan: &NodeRunPlan,
        verified: VerifiedRun,
        observations: RunObservations,
    ) -> NodeRunSummary {
        let VerifiedRun { verification, figures: analysis } = verified;
        let mut violated = violated(&observations, &verification);
        let late = observations.longest_probe_delay.and_then(|late| undecided(&mut violated, late));
        let mut notes = observations.notes;
        let undecided = late.is_some();
        notes.extend(late);
        if plan.promises.len() < plan.card.promises.len() {
            notes.push(FALSE_SUSPICION_NOTE.to_owned());
        }
        if !plan.partitions.is_empty() {
            notes.push(PARTITION_NOTE.to_owned());
        }
        let not_counted = verification.violations.iter().filter(|violated| !violated.is_failure);
        let not_promised = not_counted.map(|violated| violated.property).collect();
        let counter = verification.counter.map_or(CounterCheck::default(), |it| CounterCheck {
            expected: it.expected,
            found: it.found,
            lost: it.lost,
        });
        let entries = if plan.uses_lock { verification.entries } else { counter.expected };
        let seconds = analysis.access_span_seconds();
        let rate = if seconds > 0.0 { entries as f64 / seconds } else { 0.0 };
        let messages_per_entry = messages_per_entry(plan, &analysis, &verification);
        let channel = plan.fifo.then(|| channel(&analysis, &verification));
        NodeRunSummary {
            nodes: plan.size,
            mutex: plan.algorithms.mutex.clone(),
            election: plan.algorithms.election.clone(),
            seed: plan.options.seed,
            lock: plan.uses_lock,
            seconds: round_to_thousandths(seconds),
            entries,
            entries_per_second: round_to_thousandths(rate),
            latency_ms: (verification.entries > 0).then(|| latency(verification.latency)),
            messages_per_entry,
            elections: verification.elections.into_iter().map(round_election).collect(),
            partitions: observations.partitions,
            counter,
            refused: verification.accesses.refused,
            overlaps: verification.overlaps,
            violations: violated.len(),
            verdicts: verdicts(
                verification.properties,
                &violated,
                undecided || observations.interrupted,
            ),
            violated,
            undecided,
            not_promised,
            channel,
            crashes: verification.crashes,
            interrupted: observations.interrupted,
            notes,
            records: verification.records,
            directory: None,
        }
    }

    /// Returns true if the verdicts on mutual exclusion and on fenced access are `Holds`.
    /// Overlapping entries then had no effect, because the resource rejected each access with a
    /// stale fencing token.
    pub(super) fn is_resource_protected(&self) -> bool {
        let holds = |property| self.verdicts.get(&property) == Some(&Judgement::Holds);
        holds(Property::MutualExclusion) && holds(Property::FencedAccess)
    }

    /// Returns the label of a property in the table, usually the name of the property. If entries
    /// overlapped but the resource rejected all stale accesses, the label of mutual exclusion
    /// states that the property holds at the resource.
    pub(super) fn property_label(&self, property: Property) -> &'static str {
        match property {
            Property::MutualExclusion if self.overlaps > 0 && self.is_resource_protected() => {
                "mutual-exclusion (at the resource)"
            }
            property => property.name(),
        }
    }

    /// Returns true if there is no violation that makes the run fail, and no update was lost.
    pub(super) fn succeeded(&self) -> bool {
        self.violations == 0 && self.counter.lost == 0
    }
}

/// Returns the violations that make the run fail. If a process did not finish its workload, these
/// include a violation of starvation freedom. If the run was interrupted, they include no violation
/// of a liveness property.
fn violated(observations: &RunObservations, verification: &Verification) -> Vec<TraceViolation> {
    let mut violated: Vec<_> = verification.violations.clone();
    violated.retain(|it| {
        it.is_failure && !(observations.interrupted && it.property.requires_fair_schedule())
    });
    if !observations.unfinished.is_empty() && !observations.interrupted {
        let names: Vec<_> = observations.unfinished.iter().map(ProcessId::to_string).collect();
        violated.retain(|it| it.property != Property::StarvationFreedom);
        violated.push(TraceViolation {
            property: Property::StarvationFreedom,
            at: verification.duration,
            description: format!("{} did not finish", names.join(", ")),
            is_failure: true,
        });
    }
    violated
}

/// Removes the violations of liveness from `violated`, because these violations prove nothing on a
/// machine that is too slow. Returns a note that describes the last removed violation and contains
/// `late`, the longest delay of a probe. Returns `None` if no violation was removed.
fn undecided(violated: &mut Vec<TraceViolation>, late: Duration) -> Option<String> {
    let waits = |it: &mut TraceViolation| it.property.requires_fair_schedule();
    let description = violated.extract_if(.., waits).last()?.description;
    let late = late.as_millis();
    Some(format!("{description}, but the machine was late by up to {late} ms: undecided"))
}

/// Returns the final verdict on each property, which is the first of these that applies.
/// `undecided` is true if the run was interrupted, or if violations were removed because the
/// machine was too slow.
///
/// - A property is violated if `violated` contains it.
/// - A liveness property is incomplete if `undecided` is true and its verdict in `verified` is a
///   violation. Starvation freedom is incomplete whenever `undecided` is true.
/// - Otherwise, the verdict is the one in `verified`.
fn verdicts(
    mut verified: BTreeMap<Property, Judgement>,
    violated: &[TraceViolation],
    undecided: bool,
) -> BTreeMap<Property, Judgement> {
    if undecided {
        for (property, judgement) in &mut verified {
            if property.requires_fair_schedule() && *judgement == Judgement::Violated {
                *judgement = Judgement::Incomplete;
            }
        }
        verified.insert(Property::StarvationFreedom, Judgement::Incomplete);
    }
    verified.extend(violated.iter().map(|it| (it.property, Judgement::Violated)));
    verified
}

fn messages_per_entry(
    plan: &NodeRunPlan,
    analysis: &RunFigures,
    verification: &Verification,
) -> Option<MessagesPerEntry> {
    let entries = verification.entries;
    if entries == 0 {
        return None;
    }
    let sent = verification.messages.sent_count_in_layer(Layer::Mutex) as f64;
    let per = |entries: u64| round_to_thousandths(sent / entries as f64);
    let away = analysis.non_coordinator_entries;
    let partitions = plan.coordinator != CoordinatorKind::None && away > 0;
    Some(MessagesPerEntry {
        measured: per(entries),
        card: plan.card.messages.most,
        formula: plan.card.messages.formula,
        away_from_coordinator: partitions.then(|| per(away)),
    })
}

fn channel(analysis: &RunFigures, verification: &Verification) -> ChannelFaultStats {
    let sent = |kind: &str| {
        let kinds = verification.messages.sent.get(&Layer::Channel);
        kinds.and_then(|kinds| kinds.get(kind)).copied().unwrap_or(0)
    };
    let recovered =
        RecoveryMessages { repeats: sent("repeat"), acknowledgements: sent("acknowledge") };
    ChannelFaultStats { injected: analysis.injected, recovered }
}

fn latency(quantiles: Quantiles) -> LatencyQuantiles {
    let Quantiles { p50, p99, max, .. } = quantiles;
    LatencyQuantiles {
        p50: round_to_thousandths(p50),
        p99: round_to_thousandths(p99),
        max: round_to_thousandths(max),
    }
}

fn round_election(election: MeasuredElection) -> MeasuredElection {
    MeasuredElection {
        at: round_to_thousandths(election.at),
        ms: round_to_thousandths(election.ms),
        ..election
    }
}

/// Rounds a number to three digits after the decimal point, because the measurements are not more
/// accurate.
pub(super) fn round_to_thousandths(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn violations_override_verdicts_of_traces() {
        let verified =
            [Property::StarvationFreedom, Property::Fencing].map(|it| (it, Judgement::Holds));
        let description = "P2 did not finish".to_owned();
        let waited = TraceViolation {
            property: Property::StarvationFreedom,
            at: 17.0,
            description,
            is_failure: true,
        };
        let mut violated = vec![waited];
        let known = verdicts(verified.into(), &violated, false);
        assert_eq!(known[&Property::StarvationFreedom], Judgement::Violated);
        assert_eq!(known[&Property::Fencing], Judgement::Holds);
        let description = undecided(&mut violated, Duration::from_millis(90));
        assert!(description.is_some_and(|description| description.contains("late by up to 90 ms")));
        let known = verdicts(verified.into(), &violated, true);
        assert_eq!(known[&Property::StarvationFreedom], Judgement::Incomplete);
        assert_eq!(
            undecided(&mut violated, Duration::from_millis(90)),
            None,
            "no violation of liveness"
        );
        let waits = [(Property::DeadlockFreedom, Judgement::Violated)];
        let known = verdicts(waits.into(), &violated, true);
        assert_eq!(known[&Property::DeadlockFreedom], Judgement::Incomplete);
    }
}
