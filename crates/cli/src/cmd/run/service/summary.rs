//! The figures and verdicts of a run of the lock service.

use std::collections::BTreeMap;

use serde::Serialize;
use tenure_client::LockQueueChange;
use tenure_daemon::resource::CounterStats;

use super::drive::{KillRecord, ServiceObservations};
use super::entry_record::EntryRecord;
use super::plan::ServiceRunPlan;
use super::value_record::PutRecord;
use super::verify::{PromiseViolation, ServicePromise, find_promise_violations};
use crate::cmd::failure::Status;
use crate::cmd::run::drive::PartitionRecord;
use crate::cmd::run::summary::{CounterCheck, LatencyQuantiles, round_to_thousandths};

/// The result of a run of the lock service. Scripts depend on its JSON keys; later releases may add
/// keys.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ServiceRunSummary {
    pub(super) members: u32,
    pub(super) clients: u32,
    pub(super) lock: bool,
    pub(super) seed: u64,
    pub(super) seconds: f64,
    pub(super) entries: u64,
    pub(super) entries_per_second: f64,
    /// Quantiles of the time from the request of a client for the lock to the acquisition, in
    /// milliseconds.
    pub(super) latency_ms: Option<LatencyQuantiles>,
    /// Quantiles of the outages of the lock after kills, in milliseconds. An outage begins with a
    /// kill. If the leader was killed, the outage ends with the first acquisition after the next
    /// election. If only followers were killed, it ends with the first acquisition by a client that
    /// was waiting at the time of the kill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) failover_ms: Option<LatencyQuantiles>,
    /// Longest time between two consecutive acquisitions of the lock, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) longest_gap_ms: Option<f64>,
    pub(super) kills: u64,
    pub(super) faults: u64,
    pub(super) partitions: Vec<PartitionRecord>,
    pub(super) counter: CounterCheck,
    /// Figures of the values; `None` if the clients put no values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) values: Option<ValueStats>,
    pub(super) refused: u64,
    pub(super) violations: usize,
    pub(super) violated: Vec<PromiseViolation>,
    pub(super) verdicts: BTreeMap<String, &'static str>,
    pub(super) interrupted: bool,
    pub(super) notes: Vec<String>,
    /// Directory of the run's files; `None` if they were removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) directory: Option<String>,
}

/// Figures of the values that clients put and read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct ValueStats {
    /// Number of puts.
    pub(super) put: usize,
    /// Number of puts that the service confirmed.
    pub(super) acknowledged: usize,
    /// Total size of the values of the confirmed puts.
    pub(super) bytes: usize,
    /// Number of reads of the clients.
    pub(super) read: usize,
    /// Number of reads after the restart of all members at the end.
    pub(super) read_in_the_end: usize,
}

impl ValueStats {
    fn new(record: &ServiceObservations) -> ValueStats {
        let is_confirmed = |put: &&PutRecord| put.response.is_some();
        let acknowledged = record.puts.iter().filter(is_confirmed);
        ValueStats {
            put: record.puts.len(),
            acknowledged: acknowledged.clone().count(),
            bytes: acknowledged.map(|put| put.value.bytes).sum(),
            read: record.reads.len(),
            read_in_the_end: record.final_reads.as_ref().map_or(0, |found| found.reads.len()),
        }
    }
}

impl ServiceRunSummary {
    pub(super) fn new(
        plan: &ServiceRunPlan,
        observations: ServiceObservations,
    ) -> ServiceRunSummary {
        // Without a lock nothing is promised.
        let violated =
            if plan.uses_lock { find_promise_violations(&observations) } else { Vec::new() };
        let is_forgotten = observations.changes.contains(&LockQueueChange::HistoryCompacted);
        let is_partial =
            observations.interrupted || is_forgotten || observations.final_fence.is_none();
        let is_unread = plan.max_value_bytes.is_some() && observations.final_reads.is_none();
        let of_log = [
            ServicePromise::OrderOfTheQueue,
            ServicePromise::GrantedAlive,
            ServicePromise::NothingAcknowledgedLost,
        ];
        let verdict = |promise: ServicePromise| match () {
            () if violated.iter().any(|fault| fault.promise == promise) => "violated",
            () if is_partial && of_log.contains(&promise) => "incomplete",
            () if is_unread && promise == ServicePromise::NothingAcknowledgedLost => "incomplete",
            () if observations.interrupted && promise == ServicePromise::Progress => "incomplete",
            () => "holds",
        };
        let verdicts = ServicePromise::ALL.iter().filter(|_| plan.uses_lock);
        let verdicts = verdicts.map(|promise| (promise.name(), verdict(*promise))).collect();
        let values = plan.max_value_bytes.map(|_| ValueStats::new(&observations));
        let claims = &observations.entry_records;
        let entries = claims.iter().filter(|it| it.written.is_some()).count() as u64;
        let rate =
            if observations.seconds > 0.0 { entries as f64 / observations.seconds } else { 0.0 };
        let latency = claims.iter().filter(|it| it.granted > 0).map(|it| it.granted - it.requested);
        ServiceRunSummary {
            members: plan.members,
            clients: plan.clients,
            lock: plan.uses_lock,
            seed: plan.seed,
            seconds: round_to_thousandths(observations.seconds),
            entries,
            entries_per_second: round_to_thousandths(rate),
            latency_ms: quantiles(latency.collect()),
            failover_ms: quantiles(
                observations
                    .kills
                    .iter()
                    .filter_map(|kill| {
                        failover_time(kill, &observations.leader_report_times, claims)
                    })
                    .collect(),
            ),
            longest_gap_ms: longest_gap(claims).map(millis),
            kills: observations.kills.len() as u64,
            faults: observations.fault_count,
            partitions: observations.partitions,
            counter: counter(observations.counter_stats),
            values,
            refused: observations.counter_stats.rejected,
            violations: violated.len(),
            violated,
            verdicts,
            interrupted: observations.interrupted,
            notes: observations.notes,
            directory: None,
        }
    }

    /// Returns true if no violation of a promise was found and no update was lost.
    pub(super) fn succeeded(&self) -> bool {
        self.violations == 0 && self.counter.lost == 0
    }

    pub(super) fn status(&self) -> Status {
        let is_open = self.verdicts.values().any(|verdict| *verdict == "incomplete");
        match self.succeeded() {
            false => Status::Violated,
            true if is_open || self.interrupted => Status::Incomplete,
            true => Status::Success,
        }
    }
}

fn counter(CounterStats { value, puts, .. }: CounterStats) -> CounterCheck {
    let lost = i64::try_from(puts).unwrap_or(i64::MAX) - i64::try_from(value).unwrap_or(i64::MAX);
    CounterCheck { expected: puts, found: value, lost }
}

/// Returns the duration of the outage of the lock after a kill, in nanoseconds. The outage ends
/// with an acquisition of the lock. Returns `None` if there is no such acquisition.
///
/// If the leader was killed, the outage ends with the first acquisition after the election of the
/// next leader. Earlier acquisitions are ignored, because they do not show that the service has a
/// leader again: the killed leader may have granted them before the kill.
///
/// If only followers were killed, the outage ends with the first acquisition by a client that was
/// waiting at the time of the kill.
fn failover_time(kill: &KillRecord, terms: &[u64], claims: &[EntryRecord]) -> Option<u64> {
    let since = match kill.of_leader {
        true => terms.iter().copied().filter(|began| *began > kill.at).min()?,
        false => kill.at,
    };
    let is_next =
        |it: &&EntryRecord| it.granted > since && (kill.of_leader || it.requested < since);
    claims.iter().filter(is_next).map(|it| it.granted - kill.at).min()
}

/// Returns the longest time between two consecutive acquisitions of the lock, in nanoseconds.
fn longest_gap(claims: &[EntryRecord]) -> Option<u64> {
    let mut granted: Vec<u64> = claims.iter().map(|it| it.granted).filter(|at| *at > 0).collect();
    granted.sort_unstable();
    granted.windows(2).map(|pair| pair[1] - pair[0]).max()
}

fn millis(nanoseconds: u64) -> f64 {
    round_to_thousandths(nanoseconds as f64 / 1e6)
}

fn quantiles(mut took: Vec<u64>) -> Option<LatencyQuantiles> {
    took.sort_unstable();
    let at = |part: usize| took.get((took.len() * part / 100).min(took.len().checked_sub(1)?));
    Some(LatencyQuantiles {
        p50: millis(*at(50)?),
        p99: millis(*at(99)?),
        max: millis(*took.last()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims() -> Vec<EntryRecord> {
        let claim =
            |requested, granted| EntryRecord { requested, granted, ..EntryRecord::default() };
        // The leader granted this claim and was then killed at 100. The client received the grant
        // at 103.
        let heard_late = claim(50, 103);
        // No client waited when the next leader was elected at 300. The client of `heard_late` had
        // released the lock, and the client of `claim(60, 110)` had acquired it.
        vec![heard_late, claim(60, 110), claim(310, 350), claim(320, 360)]
    }

    #[test]
    fn failover_ends_with_grant_of_next_leader() {
        let took = |kill: KillRecord, terms: &[u64]| failover_time(&kill, terms, &claims());
        let leader = KillRecord { at: 100, of_leader: true };
        assert_eq!(took(leader, &[10, 300]), Some(250), "to the grant at 350");
        assert_eq!(took(leader, &[10]), None, "no leader afterwards");
        let other = KillRecord { at: 100, of_leader: false };
        assert_eq!(took(other, &[10]), Some(3));
    }

    #[test]
    fn gap_is_between_consecutive_grants() {
        assert_eq!(longest_gap(&claims()), Some(240), "from 110 to 350");
        assert_eq!(longest_gap(&claims()[..1]), None);
        // Without a lock nothing is granted.
        assert_eq!(longest_gap(&[EntryRecord::default(), EntryRecord::default()]), None);
    }

    #[test]
    fn undecided_verdict_is_no_success() {
        let of = |verdict, lost, interrupted| {
            let record = ServiceObservations { interrupted, ..ServiceObservations::default() };
            let plan = ServiceRunPlan::default();
            let mut summary = ServiceRunSummary::new(&plan, record);
            summary.counter.lost = lost;
            summary.verdicts = [("progress".to_owned(), verdict)].into();
            summary.status()
        };
        assert_eq!(of("holds", 0, false), Status::Success);
        assert_eq!(of("incomplete", 0, false), Status::Incomplete);
        assert_eq!(of("holds", 0, true), Status::Incomplete);
        assert_eq!(of("incomplete", 1, true), Status::Violated);
    }
}
