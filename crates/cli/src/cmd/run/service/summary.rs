//! What happened to a service and its clients, in figures.

use std::collections::BTreeMap;

use serde::Serialize;
use tenure_client::Change;
use tenure_daemon::resource::Tally;

use super::claim::Claim;
use super::drive::{Course, Kill};
use super::judge::{Fault, Promise, judge};
use super::plan::Plan;
use super::value::Put;
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
    /// first entry once the next one leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) failover_ms: Option<Latency>,
    /// The longest time from one entry to the next, of whomever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) longest_gap_ms: Option<f64>,
    pub(super) kills: u64,
    /// How many times somebody was killed, asked to leave, stopped, kept from writing, slowed down
    /// or cut off.
    pub(super) faults: u64,
    /// Who was cut off from all others, and when.
    pub(super) partitions: Vec<Apart>,
    pub(super) counter: Counter,
    /// What came of values, where some were put.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) values: Option<Values>,
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

/// What came of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Values {
    pub(super) put: usize,
    /// How many of these were confirmed.
    pub(super) acknowledged: usize,
    /// How many bytes those have.
    pub(super) bytes: usize,
    /// How often one was read meanwhile, and in the end.
    pub(super) read: usize,
    pub(super) read_in_the_end: usize,
}

impl Values {
    fn new(course: &Course) -> Values {
        let is_told = |put: &&Put| put.told.is_some();
        let acknowledged = course.puts.iter().filter(is_told);
        Values {
            put: course.puts.len(),
            acknowledged: acknowledged.clone().count(),
            bytes: acknowledged.map(|put| put.value.bytes).sum(),
            read: course.seen.len(),
            read_in_the_end: course.found.as_ref().map_or(0, |found| found.seen.len()),
        }
    }
}

impl Summary {
    /// What came of a run, judged.
    pub(super) fn new(plan: &Plan, course: Course) -> Summary {
        // Without a lock nothing is promised but that updates get lost.
        let violated = if plan.lock { judge(&course) } else { Vec::new() };
        let is_forgotten = course.changes.contains(&Change::Forgotten);
        let is_partial = course.interrupted || is_forgotten || course.last.is_none();
        let is_unread = plan.values.is_some() && course.found.is_none();
        let of_log =
            [Promise::OrderOfTheQueue, Promise::GrantedAlive, Promise::NothingAcknowledgedLost];
        let verdict = |promise: Promise| match () {
            () if violated.iter().any(|fault| fault.promise == promise) => "violated",
            () if is_partial && of_log.contains(&promise) => "incomplete",
            () if is_unread && promise == Promise::NothingAcknowledgedLost => "incomplete",
            () if course.interrupted && promise == Promise::Progress => "incomplete",
            () => "holds",
        };
        let verdicts = Promise::ALL.iter().filter(|_| plan.lock);
        let verdicts = verdicts.map(|promise| (promise.name(), verdict(*promise))).collect();
        let values = plan.values.map(|_| Values::new(&course));
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
            longest_gap_ms: longest_gap(claims).map(millis),
            kills: course.kills.len() as u64,
            faults: course.faults,
            partitions: course.apart,
            counter: counter(course.tally),
            values,
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

/// How long it took after a kill until somebody was let in: who had waited since before it, or
/// after the kill of a leader, whoever it was once the next one leads. What a leader had granted
/// may still be on its way when it is killed, those who wait hand the lock on without one, and
/// whoever was inside meanwhile waits for nothing but that its release is confirmed.
fn again(kill: &Kill, terms: &[u64], claims: &[Claim]) -> Option<u64> {
    let since = match kill.of_leader {
        true => terms.iter().copied().filter(|began| *began > kill.at).min()?,
        false => kill.at,
    };
    let is_next = |it: &&Claim| it.granted > since && (kill.of_leader || it.asked < since);
    claims.iter().filter(is_next).map(|it| it.granted - kill.at).min()
}

/// The longest time from one grant to the next.
fn longest_gap(claims: &[Claim]) -> Option<u64> {
    let mut granted: Vec<u64> = claims.iter().map(|it| it.granted).filter(|at| *at > 0).collect();
    granted.sort_unstable();
    granted.windows(2).map(|pair| pair[1] - pair[0]).max()
}

fn millis(nanoseconds: u64) -> f64 {
    thousandths(nanoseconds as f64 / 1e6)
}

fn quantiles(mut took: Vec<u64>) -> Option<Latency> {
    took.sort_unstable();
    let at = |part: usize| took.get((took.len() * part / 100).min(took.len().checked_sub(1)?));
    Some(Latency { p50: millis(*at(50)?), p99: millis(*at(99)?), max: millis(*took.last()?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims() -> Vec<Claim> {
        let claim = |asked, granted| Claim { asked, granted, ..Claim::default() };
        // Granted by who is killed at 100.
        let heard_late = claim(50, 103);
        // Nobody waited when the next one led at 300: the second had been let in by the first.
        vec![heard_late, claim(60, 110), claim(310, 350), claim(320, 360)]
    }

    #[test]
    fn after_the_kill_of_a_leader_it_takes_until_the_next_one_grants() {
        let took = |kill: Kill, terms: &[u64]| again(&kill, terms, &claims());
        let leader = Kill { at: 100, of_leader: true };
        assert_eq!(took(leader, &[10, 300]), Some(250), "to 350, when one was let in");
        assert_eq!(took(leader, &[10]), None, "nobody led any more");
        let other = Kill { at: 100, of_leader: false };
        assert_eq!(took(other, &[10]), Some(3));
    }

    #[test]
    fn a_gap_is_between_two_entries_in_the_order_of_their_grants() {
        assert_eq!(longest_gap(&claims()), Some(240), "from 110 to 350");
        assert_eq!(longest_gap(&claims()[..1]), None);
        // Without a lock nothing is granted.
        assert_eq!(longest_gap(&[Claim::default(), Claim::default()]), None);
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
