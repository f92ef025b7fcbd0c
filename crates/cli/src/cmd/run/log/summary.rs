//! The figures of a run of a log and its clients.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use tenure_core::{ProcessId, Property};
use tenure_daemon::log::committed_log::CommittedLog;
use tenure_daemon::log::history::{self, Completion, Operation, OperationKind, Violation};
use tenure_trace::{Election, Judgement, Violated};

use crate::cmd::run::drive::{Partition, RunRecord};
use crate::cmd::run::plan::{LogPlan, Plan};
use crate::cmd::run::summary::{Counter, Latency, round_election, round_to_thousandths, undecided};
use crate::cmd::run::verifier::VerifiedRun;

/// Note on partitions.
const PARTITION_NOTE: &str = "the nodes were connected through proxies of this command: \
                              operations take longer than without --partition, and clients could \
                              reach both sides";

/// The result of a run. Scripts depend on the JSON keys; more may be added.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cmd::run) struct Summary {
    pub(super) nodes: u32,
    pub(super) log: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) variants: Vec<String>,
    pub(super) clients: u32,
    pub(super) seed: u64,
    /// Time from the first request to the last response, in seconds.
    pub(super) seconds: f64,
    pub(super) operations: Operations,
    pub(super) operations_per_second: f64,
    pub(super) latency_ms: Option<Latency>,
    /// Time from the kill of a leader to the next acknowledged increment or write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) failover_ms: Option<Latency>,
    /// Time from the departure of a leader to the next acknowledged increment or write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) handover_ms: Option<Latency>,
    pub(super) elections: Vec<Election>,
    /// Partitions of the network.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) partitions: Vec<Partition>,
    pub(super) entries: Entries,
    pub(super) counter: Counter,
    /// Number of violations.
    pub(super) violations: usize,
    pub(super) violated: Vec<Violated>,
    pub(super) verdicts: BTreeMap<Property, Judgement>,
    /// Properties of the verdicts that are not promised, and so do not count.
    pub(super) not_promised: Vec<Property>,
    /// True if progress is undecided, as the machine was too slow.
    #[serde(skip)]
    pub(in crate::cmd::run) undecided: bool,
    pub(super) crashes: u64,
    pub(in crate::cmd::run) interrupted: bool,
    pub(super) notes: Vec<String>,
    pub(super) records: u64,
    /// Directory of the files, if they were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) directory: Option<String>,
}

/// Operations of the clients.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Operations {
    /// Number of operations with a response.
    pub(super) answered: u64,
    pub(super) increments: u64,
    pub(super) writes: u64,
    pub(super) reads: u64,
    /// Number of operations with an unknown outcome.
    pub(super) unknown: u64,
    /// Number of rejections by nodes, after which the client retried.
    pub(super) refusals: u64,
    /// Number of retries of operations that might have been performed.
    pub(super) repeats: u64,
}

/// The contents of the log.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Entries {
    /// Number of committed entries.
    pub(super) committed: u64,
    /// Terms of the first and last entry.
    pub(super) terms: Option<(u64, u64)>,
    /// Numbers of the processes that applied every entry.
    pub(super) told: Vec<u32>,
    /// Number of snapshots.
    pub(super) snapshots: u64,
    /// Number of snapshots that a leader sent to a follower.
    pub(super) snapshots_sent: u64,
}

impl Entries {
    fn of(committed_log: &CommittedLog) -> Entries {
        let (snapshots, snapshots_sent) = committed_log.snapshots();
        Entries {
            committed: committed_log.entries(),
            terms: committed_log.terms(),
            told: committed_log.complete().into_iter().map(ProcessId::number).collect(),
            snapshots,
            snapshots_sent,
        }
    }
}

impl Summary {
    /// Builds the summary from the record of a run and its verification.
    pub(in crate::cmd::run) fn new(
        plan: &Plan,
        log: &LogPlan,
        verified: VerifiedRun,
        record: RunRecord,
    ) -> Summary {
        let VerifiedRun { verification, committed_log, .. } = verified;
        let operations = &record.operations;
        let faults = faults(&record, &committed_log);
        let mut verdicts = verification.properties;
        // A trace may lack a command that was saved just before its process was killed. So
        // no-creation is checked with the clients' operations instead.
        verdicts.insert(Property::NoCreation, Judgement::Holds);
        let mut violations = verification.violations;
        violations.retain(|violated| violated.property != Property::NoCreation);
        let (mut violated, not_counted): (Vec<Violated>, Vec<Violated>) =
            violations.into_iter().partition(|violated| violated.counts);
        for Violation { property, message: says } in faults {
            verdicts.insert(property, Judgement::Violated);
            violated.push(Violated { property, at: verification.duration, says, counts: true });
        }
        let late = record.late.and_then(|late| undecided(&mut violated, late));
        let (mut notes, undecided) = (record.notes.clone(), late.is_some());
        mark_undecided(&mut verdicts, undecided, record.interrupted);
        notes.extend(late);
        if !plan.cuts.is_empty() {
            notes.push(PARTITION_NOTE.to_owned());
        }
        let [failovers, handovers] = waiting_times(&record, &committed_log, &mut notes);
        let seconds = seconds(operations);
        let counts = count(operations, record.refusals, record.repeats);
        let rate = if seconds > 0.0 { counts.answered as f64 / seconds } else { 0.0 };
        Summary {
            nodes: plan.size,
            log: log.name.clone(),
            variants: log.variants.clone(),
            clients: log.clients,
            seed: plan.seed,
            seconds: round_to_thousandths(seconds),
            operations: counts,
            operations_per_second: round_to_thousandths(rate),
            latency_ms: latency(operations),
            failover_ms: quantiles(failovers),
            handover_ms: quantiles(handovers),
            elections: verification.elections.into_iter().map(round_election).collect(),
            partitions: record.partitions,
            entries: Entries::of(&committed_log),
            counter: counter(operations, &committed_log),
            violations: violated.len(),
            not_promised: not_counted.iter().map(|violated| violated.property).collect(),
            undecided,
            violated,
            verdicts,
            crashes: verification.crashes,
            interrupted: record.interrupted,
            notes,
            records: verification.records,
            directory: None,
        }
    }

    /// True if no property was violated and no acknowledged operation was lost.
    pub(in crate::cmd::run) fn succeeded(&self) -> bool {
        self.violations == 0 && self.counter.lost == 0
    }

    /// Sets the directory of the files.
    pub(in crate::cmd::run) fn set_directory(&mut self, directory: Option<String>) {
        self.directory = directory;
    }
}

/// Marks progress as undecided if the machine was too slow, or if the run was interrupted without a
/// violation.
fn mark_undecided(verdicts: &mut BTreeMap<Property, Judgement>, late: bool, interrupted: bool) {
    let is_violated = verdicts.get(&Property::Progress) == Some(&Judgement::Violated);
    if late || (interrupted && !is_violated) {
        verdicts.insert(Property::Progress, Judgement::Incomplete);
    }
}

/// Returns the violations by the clients' observations and the log.
fn faults(record: &RunRecord, committed_log: &CommittedLog) -> Vec<Violation> {
    let operations = &record.operations;
    let verified = [
        history::check_counter(operations),
        history::check_register(operations),
        committed_log.check(operations),
        unfinished_work(record, committed_log).map_or(Ok(()), Err),
    ];
    verified.into_iter().filter_map(Result::err).collect()
}

/// Returns a violation if a running node lacks entries or clients wait at the end. Without a
/// majority neither counts.
fn unfinished_work(record: &RunRecord, committed_log: &CommittedLog) -> Option<Violation> {
    if record.interrupted || !record.has_majority {
        return None;
    }
    let complete = committed_log.complete();
    let late: Vec<String> = record.unfinished.iter().map(ProcessId::to_string).collect();
    let message = match record.left_waiting {
        0 if late.is_empty() => return None,
        0 => format!("{} did not finish", late.join(", ")),
        1 => "a client has no response".to_owned(),
        many => format!("{many} clients have no response"),
    };
    let applied = complete.len();
    let message = format!("{message}; {applied} nodes applied every entry");
    Some(Violation { property: Property::Progress, message })
}

fn answered(operation: &Operation) -> Option<u64> {
    match operation.end {
        Completion::Answered(at, _) => Some(at),
        Completion::Unknown | Completion::Refused => None,
    }
}

fn count(operations: &[Operation], refusals: u64, repeats: u64) -> Operations {
    let many = |what: &[OperationKind]| {
        let them = operations.iter().filter(|it| what.contains(&it.kind));
        them.filter(|it| answered(it).is_some()).count() as u64
    };
    let unknown = |it: &&Operation| {
        it.end == Completion::Unknown && matches!(it.kind, OperationKind::Add | OperationKind::Set)
    };
    let (increments, writes) = (many(&[OperationKind::Add]), many(&[OperationKind::Set]));
    let reads = many(&[OperationKind::GetCounter, OperationKind::GetRegister]);
    Operations {
        answered: increments + writes + reads,
        increments,
        writes,
        reads,
        unknown: operations.iter().filter(unknown).count() as u64,
        refusals,
        repeats,
    }
}

/// Returns the expected counter, by acknowledged increments and the log, and the actual one.
fn counter(operations: &[Operation], committed_log: &CommittedLog) -> Counter {
    let adds = operations.iter().filter(|it| it.kind == OperationKind::Add);
    let acknowledged = adds.filter(|it| answered(it).is_some()).count() as u64;
    let found = committed_log.counter();
    // Unacknowledged increments may be present as well.
    let expected = acknowledged.max(found);
    let lost = i64::try_from(expected - found).unwrap_or(i64::MAX);
    Counter { expected, found, lost }
}

fn seconds(operations: &[Operation]) -> f64 {
    let first = operations.iter().map(|it| it.asked_at).min().unwrap_or(0);
    let last = operations.iter().filter_map(answered).max().unwrap_or(first);
    last.saturating_sub(first) as f64 / 1e9
}

fn latency(operations: &[Operation]) -> Option<Latency> {
    quantiles(operations.iter().filter_map(|it| Some(answered(it)? - it.asked_at)).collect())
}

/// Returns the waiting times of clients after each kill and each departure of a leader.
fn waiting_times(
    record: &RunRecord,
    committed_log: &CommittedLog,
    notes: &mut Vec<String>,
) -> [Vec<u64>; 2] {
    let of = |moments| gaps(&record.operations, committed_log, moments);
    let waiting_times = [of(&record.kills), of(&record.departures)];
    notes.extend(note_on_gaps(&waiting_times.concat()));
    waiting_times.map(|gaps| gaps.into_iter().flatten().collect())
}

/// Returns the time from each kill or departure to the next acknowledged change under a leader of a
/// later term. `None` if the process was no longer the leader, so that no election was needed.
fn gaps(
    operations: &[Operation],
    committed_log: &CommittedLog,
    moments: &[(Duration, ProcessId)],
) -> Vec<Option<u64>> {
    let terms = committed_log.terms_of_changes();
    let changes =
        operations.iter().filter(|it| matches!(it.kind, OperationKind::Add | OperationKind::Set));
    let by_term = |it: &Operation| Some((answered(it)?, *terms.get(&it.tag)?));
    let mut answers: Vec<(u64, u64)> = changes.filter_map(by_term).collect();
    answers.sort_unstable();
    let after = |(moment, process): &(Duration, ProcessId)| {
        let moment = u64::try_from(moment.as_nanos()).ok()?;
        let (before, since) = answers.split_at(answers.partition_point(|(at, _)| *at < moment));
        let last = before.iter().map(|(_, term)| *term).max().unwrap_or(0);
        let (at, next) = since.iter().find(|(_, term)| *term > last)?;
        committed_log.has_led(*process, last..*next).then(|| at - moment)
    };
    moments.iter().map(after).collect()
}

/// Returns a note on faults that did not hit the leader.
fn note_on_gaps(gaps: &[Option<u64>]) -> Option<String> {
    let missed = gaps.iter().filter(|gap| gap.is_none()).count();
    (missed > 0).then(|| {
        format!(
            "in {missed} of {} cases the killed or departed process was no longer the leader, or \
             no change followed: clients did not wait for an election",
            gaps.len()
        )
    })
}

fn quantiles(mut took: Vec<u64>) -> Option<Latency> {
    took.sort_unstable();
    let at = |part: usize| took.get((took.len() * part / 100).min(took.len().checked_sub(1)?));
    let ms = |nanoseconds: &u64| round_to_thousandths(*nanoseconds as f64 / 1e6);
    Some(Latency { p50: ms(at(50)?), p99: ms(at(99)?), max: ms(took.last()?) })
}

#[cfg(test)]
mod tests {
    use tenure_core::service::log::{Content, Entry};
    use tenure_daemon::log::history::Observation;
    use tenure_daemon::log::{Change, OperationId};

    use super::*;

    #[test]
    fn no_failover_time_if_another_process_was_killed() {
        let (mut committed_log, mut operations) = (CommittedLog::default(), Vec::new());
        for (number, (at, term)) in (1..).zip([(10, 1), (20, 1), (50, 2), (90, 3)]) {
            let tag = OperationId { client: 1, number };
            committed_log.record_leader(ProcessId(term as u32), term);
            let content = Content::Payload(Change::Set(tag).payload());
            committed_log.record_commit(ProcessId(0), number, &Entry { term, content });
            let end = Completion::Answered(at, Observation::Written);
            operations.push(Operation { tag, kind: OperationKind::Set, asked_at: at - 1, end });
        }
        let moment = |at, process| (Duration::from_nanos(at), ProcessId(process));
        let waiting_times =
            |at, process| gaps(&operations, &committed_log, &[moment(at, process)])[0];
        assert_eq!(waiting_times(30, 1), Some(20));
        assert_eq!(waiting_times(30, 2), None, "it did not lead yet");
        assert_eq!(waiting_times(60, 2), Some(30));
        assert_eq!(waiting_times(60, 1), None, "it led no longer");
        assert_eq!(note_on_gaps(&[Some(20)]), None);
        assert!(note_on_gaps(&[Some(20), None]).is_some_and(|says| says.starts_with("in 1 of 2")));
    }

    #[test]
    fn interrupted_run_leaves_progress_undecided() {
        let after = |known, late, interrupted| {
            let mut verdicts = BTreeMap::from([(Property::Progress, known)]);
            mark_undecided(&mut verdicts, late, interrupted);
            verdicts[&Property::Progress]
        };
        assert_eq!(after(Judgement::Holds, false, false), Judgement::Holds);
        assert_eq!(after(Judgement::Holds, false, true), Judgement::Incomplete);
        assert_eq!(after(Judgement::Holds, true, false), Judgement::Incomplete);
        assert_eq!(after(Judgement::Violated, false, true), Judgement::Violated);
    }
}
