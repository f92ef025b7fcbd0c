//! What happened to a service and its clients, in figures.

use std::collections::BTreeMap;

use serde::Serialize;
use tenure_client::Change;
use tenure_daemon::resource::Tally;

use super::claim::Claim;
use super::drive::{Course, Kill};
use super::judge::{Fault, Promise, judge};
use super::plan::Plan;
use crate::cmd::failure::Status;
use crate::cmd::run::drive::Apart;
use crate::cmd::run::summary::{Counter, Latency, thousandths};

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
    /// From the kill of a member to the next entry of a client that waited: where it led, to the
    /// first that the next leader granted.
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
            () if course.interrupted && promise == Promise::Progress => "incomplete",
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
                course.kills.iter().filter_map(|kill| again(kill, &course.terms, claims)).collect(),
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

    /// What the run means to whoever started it.
    pub(super) fn status(&self) -> Status {
        let is_open = self.verdicts.values().any(|verdict| *verdict == "incomplete");
        match self.held() {
            false => Status::Violated,
            true if is_open || self.interrupted => Status::Incomplete,
            true => Status::Held,
        }
    }
}

fn counter(Tally { value, puts, .. }: Tally) -> Counter {
    let lost = i64::try_from(puts).unwrap_or(i64::MAX) - i64::try_from(value).unwrap_or(i64::MAX);
    Counter { expected: puts, found: value, lost }
}

/// How long it took after a kill until somebody was let in who had waited: since before it, or of a
/// leader until the next one leads. What a leader had granted may still be on its way when it is
/// killed, and those who wait hand the lock on without one.
fn again(kill: &Kill, terms: &[u64], claims: &[Claim]) -> Option<u64> {
    let since = match kill.of_leader {
        true => terms.iter().copied().filter(|began| *began > kill.at).min()?,
        false => kill.at,
    };
    let waited = claims.iter().filter(|it| it.asked < since && it.granted > since);
    waited.map(|it| it.granted - kill.at).min()
}

fn quantiles(mut took: Vec<u64>) -> Option<Latency> {
    took.sort_unstable();
    let at = |part: usize| took.get((took.len() * part / 100).min(took.len().checked_sub(1)?));
    let ms = |nanoseconds: &u64| thousandths(*nanoseconds as f64 / 1e6);
    Some(Latency { p50: ms(at(50)?), p99: ms(at(99)?), max: ms(took.last()?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims() -> Vec<Claim> {
        let claim = |asked, granted| Claim { asked, granted, ..Claim::default() };
        // Granted by who is killed at 100.
        let heard_late = claim(50, 103);
        // The second asked when nobody led, the third the next leader.
        vec![heard_late, claim(60, 400), claim(200, 390), claim(310, 350), claim(70, 500)]
    }

    #[test]
    fn after_the_kill_of_a_leader_it_takes_until_the_next_one_grants() {
        let took = |kill: Kill, terms: &[u64]| again(&kill, terms, &claims());
        let leader = Kill { at: 100, of_leader: true };
        assert_eq!(took(leader, &[10, 300]), Some(290), "to 390, when one was let in who waited");
        assert_eq!(took(leader, &[10]), None, "nobody led any more");
        let other = Kill { at: 100, of_leader: false };
        assert_eq!(took(other, &[10]), Some(3));
    }

    #[test]
    fn what_is_not_known_is_no_success() {
        let of = |verdict, lost, interrupted| {
            let course = Course { interrupted, ..Course::default() };
            let plan = Plan::default();
            let mut summary = Summary::new(&plan, course);
            summary.counter.lost = lost;
            summary.verdicts = [("progress", verdict)].into();
            summary.status()
        };
        assert_eq!(of("holds", 0, false), Status::Held);
        assert_eq!(of("incomplete", 0, false), Status::Incomplete);
        assert_eq!(of("holds", 0, true), Status::Incomplete);
        assert_eq!(of("incomplete", 1, true), Status::Violated);
    }
}
