//! What happened to a log and its clients, in figures.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use tenure_core::{ProcessId, Property};
use tenure_daemon::log::history::{self, End, Fault, Operation, What};
use tenure_daemon::log::ledger::Ledger;
use tenure_trace::{Election, Judgement, Violated};

use crate::cmd::run::drive::{Apart, Course};
use crate::cmd::run::judging::Judged;
use crate::cmd::run::plan::{LogPlan, Plan};
use crate::cmd::run::summary::{Counter, Latency, rounded, thousandths, undecided};

/// What is said of the network where it was cut.
const WIRED: &str = "the nodes were connected through this command, which cut them: answers take \
                     longer than without --partition, and clients reached both sides";

/// The result of a run. Scripts depend on the names; more may be added.
#[derive(Clone, Debug, Serialize)]
pub(in crate::cmd::run) struct Summary {
    pub(super) nodes: u32,
    pub(super) log: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) variants: Vec<String>,
    pub(super) clients: u32,
    pub(super) seed: u64,
    /// From the first question to the last answer.
    pub(super) seconds: f64,
    pub(super) operations: Operations,
    pub(super) operations_per_second: f64,
    pub(super) latency_ms: Option<Latency>,
    /// From the kill of a leader to the next increment or write that was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) failover_ms: Option<Latency>,
    /// The same of a leader that was asked to leave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) handover_ms: Option<Latency>,
    pub(super) elections: Vec<Election>,
    /// Who was cut off from all others, and when.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) partitions: Vec<Apart>,
    pub(super) entries: Entries,
    pub(super) counter: Counter,
    /// How many of the following there are.
    pub(super) violations: usize,
    pub(super) violated: Vec<Violated>,
    pub(super) verdicts: BTreeMap<Property, Judgement>,
    /// Which of the verdicts are about what nobody promised, and so count for nothing.
    pub(super) not_promised: Vec<Property>,
    /// Whether the machine was too late to say if there was progress.
    #[serde(skip)]
    pub(in crate::cmd::run) undecided: bool,
    pub(super) crashes: u64,
    pub(in crate::cmd::run) interrupted: bool,
    pub(super) notes: Vec<String>,
    pub(super) records: u64,
    /// Where the files are, if they were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) directory: Option<String>,
}

/// What clients asked.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Operations {
    /// Of those that were answered.
    pub(super) answered: u64,
    pub(super) increments: u64,
    pub(super) writes: u64,
    pub(super) reads: u64,
    /// Those of which nobody knows whether they were done.
    pub(super) unknown: u64,
    /// How often a node said that it does not do something: it was asked again.
    pub(super) refusals: u64,
    /// How often something was asked again though it might have been done.
    pub(super) repeats: u64,
}

/// What the log has.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Entries {
    /// How many entries are committed.
    pub(super) committed: u64,
    /// The terms of the first and the last.
    pub(super) terms: Option<(u64, u64)>,
    /// The numbers of the processes that were told of every one of them.
    pub(super) told: Vec<u32>,
    /// How many snapshots nodes had that stood for entries.
    pub(super) snapshots: u64,
    /// How many of those a leader sent, to a node that lacked what they stood for.
    pub(super) snapshots_sent: u64,
}

impl Entries {
    fn of(ledger: &Ledger) -> Entries {
        let (snapshots, snapshots_sent) = ledger.snapshots();
        Entries {
            committed: ledger.entries(),
            terms: ledger.terms(),
            told: ledger.complete().into_iter().map(ProcessId::number).collect(),
            snapshots,
            snapshots_sent,
        }
    }
}

impl Summary {
    /// What came of a run, and of judging it.
    pub(in crate::cmd::run) fn new(
        plan: &Plan,
        log: &LogPlan,
        judged: Judged,
        course: Course,
    ) -> Summary {
        let Judged { verification, ledger, .. } = judged;
        let operations = &course.operations;
        let faults = faults(&course, &ledger);
        let mut verdicts = verification.properties;
        // Of a command that was saved when its process was killed, and had not left it yet, no
        // trace tells: that nothing was made up is judged by those who asked.
        verdicts.insert(Property::NoCreation, Judgement::Holds);
        let mut violations = verification.violations;
        violations.retain(|violated| violated.property != Property::NoCreation);
        let (mut violated, idle): (Vec<Violated>, Vec<Violated>) =
            violations.into_iter().partition(|violated| violated.counts);
        for Fault { property, says } in faults {
            verdicts.insert(property, Judgement::Violated);
            violated.push(Violated { property, at: verification.duration, says, counts: true });
        }
        let late = course.late.and_then(|late| undecided(&mut violated, late));
        let (mut notes, undecided) = (course.notes.clone(), late.is_some());
        leave_open(&mut verdicts, undecided, course.interrupted);
        notes.extend(late);
        if !plan.cuts.is_empty() {
            notes.push(WIRED.to_owned());
        }
        let [failovers, handovers] = waited(&course, &ledger, &mut notes);
        let seconds = seconds(operations);
        let asked = count(operations, course.refusals, course.repeats);
        let rate = if seconds > 0.0 { asked.answered as f64 / seconds } else { 0.0 };
        Summary {
            nodes: plan.size,
            log: log.name.clone(),
            variants: log.variants.clone(),
            clients: log.clients,
            seed: plan.seed,
            seconds: thousandths(seconds),
            operations: asked,
            operations_per_second: thousandths(rate),
            latency_ms: latency(operations),
            failover_ms: quantiles(failovers),
            handover_ms: quantiles(handovers),
            elections: verification.elections.into_iter().map(rounded).collect(),
            partitions: course.apart,
            entries: Entries::of(&ledger),
            counter: counter(operations, &ledger),
            violations: violated.len(),
            not_promised: idle.iter().map(|violated| violated.property).collect(),
            undecided,
            violated,
            verdicts,
            crashes: verification.crashes,
            interrupted: course.interrupted,
            notes,
            records: verification.records,
            directory: None,
        }
    }

    /// Whether nothing was violated and nothing acknowledged was lost.
    pub(in crate::cmd::run) fn held(&self) -> bool {
        self.violations == 0 && self.counter.lost == 0
    }

    /// Says where the files are.
    pub(in crate::cmd::run) fn lies_in(&mut self, directory: Option<String>) {
        self.directory = directory;
    }
}

/// Whether there was progress is not known where the machine was late, and, unless it is known that
/// there was none, where the run was interrupted.
fn leave_open(verdicts: &mut BTreeMap<Property, Judgement>, late: bool, interrupted: bool) {
    let is_violated = verdicts.get(&Property::Progress) == Some(&Judgement::Violated);
    if late || (interrupted && !is_violated) {
        verdicts.insert(Property::Progress, Judgement::Incomplete);
    }
}

/// What clients saw, and what the log has, that cannot be.
fn faults(course: &Course, ledger: &Ledger) -> Vec<Fault> {
    let operations = &course.operations;
    let judged = [
        history::counter(operations),
        history::register(operations),
        ledger.judge(operations),
        behind(course, ledger).map_or(Ok(()), Err),
    ];
    judged.into_iter().filter_map(Result::err).collect()
}

/// Who was up at the end, and was not told of everything though there had been time; and whether
/// clients were left waiting. Neither is a fault where no majority was left.
fn behind(course: &Course, ledger: &Ledger) -> Option<Fault> {
    if course.interrupted || !course.has_majority {
        return None;
    }
    let complete = ledger.complete();
    let late: Vec<String> = course.unfinished.iter().map(ProcessId::to_string).collect();
    let says = match course.left_waiting {
        0 if late.is_empty() => return None,
        0 => format!("{} did not come to an end", late.join(", ")),
        1 => "a client was left without an answer".to_owned(),
        many => format!("{many} clients were left without an answer"),
    };
    let told = complete.len();
    let says = format!("{says}; {told} were told of every entry");
    Some(Fault { property: Property::Progress, says })
}

fn answered(operation: &Operation) -> Option<u64> {
    match operation.end {
        End::Answered(at, _) => Some(at),
        End::Unknown | End::Refused => None,
    }
}

fn count(operations: &[Operation], refusals: u64, repeats: u64) -> Operations {
    let many = |what: &[What]| {
        let them = operations.iter().filter(|it| what.contains(&it.what));
        them.filter(|it| answered(it).is_some()).count() as u64
    };
    let unknown =
        |it: &&Operation| it.end == End::Unknown && matches!(it.what, What::Add | What::Set);
    let (increments, writes) = (many(&[What::Add]), many(&[What::Set]));
    let reads = many(&[What::GetCounter, What::GetRegister]);
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

/// What the counter should hold, by what clients were told and what is in the log, and does.
fn counter(operations: &[Operation], ledger: &Ledger) -> Counter {
    let adds = operations.iter().filter(|it| it.what == What::Add);
    let acknowledged = adds.filter(|it| answered(it).is_some()).count() as u64;
    let found = ledger.counter();
    // What nobody was told of may be there as well.
    let expected = acknowledged.max(found);
    let lost = i64::try_from(expected - found).unwrap_or(i64::MAX);
    Counter { expected, found, lost }
}

fn seconds(operations: &[Operation]) -> f64 {
    let first = operations.iter().map(|it| it.asked).min().unwrap_or(0);
    let last = operations.iter().filter_map(answered).max().unwrap_or(first);
    last.saturating_sub(first) as f64 / 1e9
}

fn latency(operations: &[Operation]) -> Option<Latency> {
    quantiles(operations.iter().filter_map(|it| Some(answered(it)? - it.asked)).collect())
}

/// How long clients waited each time when a leader was killed, and when one was asked to leave.
fn waited(course: &Course, ledger: &Ledger, notes: &mut Vec<String>) -> [Vec<u64>; 2] {
    let of = |moments| gaps(&course.operations, ledger, moments);
    let waited = [of(&course.kills), of(&course.departures)];
    notes.extend(note_of_gaps(&waited.concat()));
    waited.map(|gaps| gaps.into_iter().flatten().collect())
}

/// How long it took after each of these moments, in which somebody was killed or asked to leave,
/// until anybody was answered who had changed something under a leader of a later term than those
/// of before. Nothing where it was not the leader any more: then nobody had to be elected.
fn gaps(
    operations: &[Operation],
    ledger: &Ledger,
    moments: &[(Duration, ProcessId)],
) -> Vec<Option<u64>> {
    let terms = ledger.terms_of_changes();
    let changes = operations.iter().filter(|it| matches!(it.what, What::Add | What::Set));
    let by_term = |it: &Operation| Some((answered(it)?, *terms.get(&it.tag)?));
    let mut answers: Vec<(u64, u64)> = changes.filter_map(by_term).collect();
    answers.sort_unstable();
    let after = |(moment, process): &(Duration, ProcessId)| {
        let moment = u64::try_from(moment.as_nanos()).ok()?;
        let (before, since) = answers.split_at(answers.partition_point(|(at, _)| *at < moment));
        let last = before.iter().map(|(_, term)| *term).max().unwrap_or(0);
        let (at, next) = since.iter().find(|(_, term)| *term > last)?;
        ledger.has_led(*process, last..*next).then(|| at - moment)
    };
    moments.iter().map(after).collect()
}

/// What is said where whoever was meant as the leader was not.
fn note_of_gaps(gaps: &[Option<u64>]) -> Option<String> {
    let missed = gaps.iter().filter(|gap| gap.is_none()).count();
    (missed > 0).then(|| {
        format!(
            "{missed} of {} times whoever was killed or left as the leader led no longer, or \
             nobody changed anything afterwards: clients did not wait for the next one then",
            gaps.len()
        )
    })
}

fn quantiles(mut took: Vec<u64>) -> Option<Latency> {
    took.sort_unstable();
    let at = |part: usize| took.get((took.len() * part / 100).min(took.len().checked_sub(1)?));
    let ms = |nanoseconds: &u64| thousandths(*nanoseconds as f64 / 1e6);
    Some(Latency { p50: ms(at(50)?), p99: ms(at(99)?), max: ms(took.last()?) })
}

#[cfg(test)]
mod tests {
    use tenure_core::service::log::{Content, Entry};
    use tenure_daemon::log::history::Saw;
    use tenure_daemon::log::{Change, Tag};

    use super::*;

    #[test]
    fn nobody_waits_for_the_next_leader_where_another_was_killed() {
        let (mut ledger, mut operations) = (Ledger::default(), Vec::new());
        for (number, (at, term)) in (1..).zip([(10, 1), (20, 1), (50, 2), (90, 3)]) {
            let tag = Tag { client: 1, number };
            ledger.leads(ProcessId(term as u32), term);
            let content = Content::Payload(Change::Set(tag).payload());
            ledger.committed(ProcessId(0), number, &Entry { term, content });
            let end = End::Answered(at, Saw::Written);
            operations.push(Operation { tag, what: What::Set, asked: at - 1, end });
        }
        let moment = |at, process| (Duration::from_nanos(at), ProcessId(process));
        let waited = |at, process| gaps(&operations, &ledger, &[moment(at, process)])[0];
        assert_eq!(waited(30, 1), Some(20));
        assert_eq!(waited(30, 2), None, "it did not lead yet");
        assert_eq!(waited(60, 2), Some(30));
        assert_eq!(waited(60, 1), None, "it led no longer");
        assert_eq!(note_of_gaps(&[Some(20)]), None);
        assert!(note_of_gaps(&[Some(20), None]).is_some_and(|says| says.starts_with("1 of 2")));
    }

    #[test]
    fn whoever_interrupts_is_not_told_that_there_was_progress() {
        let after = |known, late, interrupted| {
            let mut verdicts = BTreeMap::from([(Property::Progress, known)]);
            leave_open(&mut verdicts, late, interrupted);
            verdicts[&Property::Progress]
        };
        assert_eq!(after(Judgement::Holds, false, false), Judgement::Holds);
        assert_eq!(after(Judgement::Holds, false, true), Judgement::Incomplete);
        assert_eq!(after(Judgement::Holds, true, false), Judgement::Incomplete);
        assert_eq!(after(Judgement::Violated, false, true), Judgement::Violated);
    }
}
