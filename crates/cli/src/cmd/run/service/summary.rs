//! What happened to a service and its clients, in figures.

use std::collections::BTreeMap;

use serde::Serialize;
use tenure_client::Change;
use tenure_daemon::resource::Tally;

use super::claim::Claim;
use super::drive::Course;
use super::judge::{Fault, Promise, judge};
use super::plan::Plan;
use crate::cmd::run::drive::Apart;
use crate::cmd::run::summary::{Counter, Latency, thousandths};

/// How long an answer of a leader that is gone may take to be seen, in nanoseconds.
const ON_ITS_WAY: u64 = 1_000_000;

/// The result of a run. Scripts depend on the names; more may be added.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Summary {
    pub(super) members: u32,
    pub(super) clients: u32,
    pub(super) lock: bool,
    pub(super) seed: u64,
    pub(super) seconds: f64,
    pub(super) entries: u64,
    pub(super) entries_per_second: f64,
    /// From asking for the lock to having it.
    pub(super) latency_ms: Option<Latency>,
    /// From the kill of a member to the next entry of a client that waited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) failover_ms: Option<Latency>,
    pub(super) kills: u64,
    /// How many times somebody was killed, asked to leave, stopped, kept from writing or cut off.
    pub(super) faults: u64,
    /// Who was cut off from all others, and when.
    pub(super) partitions: Vec<Apart>,
    pub(super) counter: Counter,
    /// How often the resource refused somebody.
    pub(super) refused: u64,
    pub(super) violations: usize,
    pub(super) violated: Vec<Fault>,
    pub(super) verdicts: BTreeMap<&'static str, &'static str>,
    pub(super) interrupted: bool,
    pub(super) notes: Vec<String>,
    /// Where the files are, if they were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) directory: Option<String>,
}

impl Summary {
    /// What came of a run, judged.
    pub(super) fn new(plan: &Plan, course: Course) -> Summary {
        // Without a lock nothing is promised but that updates get lost.
        let violated = if plan.lock { judge(&course) } else { Vec::new() };
        let is_forgotten = course.changes.contains(&Change::Forgotten);
        let is_partial = course.interrupted || is_forgotten || course.last.is_none();
        let of_log =
            [Promise::OrderOfTheQueue, Promise::GrantedAlive, Promise::NothingAcknowledgedLost];
        let verdict = |promise: Promise| match () {
            () if violated.iter().any(|fault| fault.promise == promise) => "violated",
            () if is_partial && of_log.contains(&promise) => "incomplete",
            () => "holds",
        };
        let verdicts = Promise::ALL.iter().filter(|_| plan.lock);
        let verdicts = verdicts.map(|promise| (promise.name(), verdict(*promise))).collect();
        let claims = &course.claims;
        let entries = claims.iter().filter(|it| it.written.is_some()).count() as u64;
        let rate = if course.seconds > 0.0 { entries as f64 / course.seconds } else { 0.0 };
        let latency = claims.iter().filter(|it| it.granted > 0).map(|it| it.granted - it.asked);
        Summary {
            members: plan.members,
            clients: plan.clients,
            lock: plan.lock,
            seed: plan.seed,
            seconds: thousandths(course.seconds),
            entries,
            entries_per_second: thousandths(rate),
            latency_ms: quantiles(latency.collect()),
            failover_ms: quantiles(
                course.kills.iter().filter_map(|kill| again(*kill, claims)).collect(),
            ),
            kills: course.kills.len() as u64,
            faults: course.faults,
            partitions: course.apart,
            counter: counter(course.tally),
            refused: course.tally.refused,
            violations: violated.len(),
            violated,
            verdicts,
            interrupted: course.interrupted,
            notes: course.notes,
            directory: None,
        }
    }

    /// Whether nothing was violated and no update was lost.
    pub(super) fn held(&self) -> bool {
        self.violations == 0 && self.counter.lost == 0
    }
}

fn counter(Tally { value, puts, .. }: Tally) -> Counter {
    let lost = i64::try_from(puts).unwrap_or(i64::MAX) - i64::try_from(value).unwrap_or(i64::MAX);
    Counter { expected: puts, found: value, lost }
}

/// How long it took after a moment until somebody was let in who had waited since before.
fn again(moment: u64, claims: &[Claim]) -> Option<u64> {
    let waited = claims.iter().filter(|it| it.asked < moment);
    waited.map(|it| it.granted).filter(|it| *it > moment + ON_ITS_WAY).min().map(|it| it - moment)
}

fn quantiles(mut took: Vec<u64>) -> Option<Latency> {
    took.sort_unstable();
    let at = |part: usize| took.get((took.len() * part / 100).min(took.len().checked_sub(1)?));
    let ms = |nanoseconds: &u64| thousandths(*nanoseconds as f64 / 1e6);
    Some(Latency { p50: ms(at(50)?), p99: ms(at(99)?), max: ms(took.last()?) })
}
