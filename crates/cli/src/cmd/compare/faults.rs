//! The effect of each fault on each algorithm, which the checker determines in small groups.

use std::fmt::Write;

use serde::Serialize;
use tenure_algorithms::catalogue::Parameters;
use tenure_check::{CheckReport, Counterexample, Judgement};
use tenure_core::{Card, DetectorClass, Property, Service, Timing};

use super::ComparedService;
use crate::cmd::check;
use crate::cmd::failure::{Failure, Status};
use crate::cmd::interrupt;
use crate::cmd::output::{json_name, line_width};
use crate::cmd::progress_bar::progress_line;

/// Upper bound on the number of states of one search. If a search reaches this bound without a
/// violation, its verdict is [`FaultOutcome::Unknown`].
const MAX_STATES: u64 = 400_000;

/// Upper bound on the number of states of one search, if the lock has a leader that sends
/// heartbeats. Few of these searches end, and each state costs more than in other searches.
const MAX_STATES_WITH_HEARTBEATS: u64 = 200_000;

/// A fault, which is a column of the table, and the options of `tenure check` that permit the
/// fault.
struct Fault {
    name: &'static str,
    head: &'static str,
    options: &'static str,
    /// Groups and workloads in which this fault is checked, as options of `tenure check`. Each text
    /// gives the options of one search. If the list is empty, the default searches of the service
    /// are performed.
    scopes: &'static [&'static str],
}

const fn fault(name: &'static str, head: &'static str, options: &'static str) -> Fault {
    Fault { name, head, options, scopes: &[] }
}

const MUTEX_SCOPES: &[&str] = &["-n 2 --entries 2", "-n 3 --entries 1"];
const ELECTION_SCOPES: &[&str] = &["-n 2", "-n 3 --ids 3,1,2"];
const AGREEMENT_SCOPES: &[&str] = &["-n 2", "-n 3"];
/// Options of the two searches that check a service with a log, in groups of two and three
/// processes. The leader never stops sending messages, so the limit of one message per link keeps
/// the state space finite.
const LOG_SCOPES: &[&str] = &["-n 2 --in-flight 1", "-n 3 --in-flight 1"];

/// Bounds for the checks of a lock with heartbeats. Each pair has the option of the group size, and
/// the option that bounds the messages in each link. The bound keeps the state space finite.
const HEARTBEAT_BOUNDS: &[(&str, &str)] = &[("-n 2", "--in-flight 2"), ("-n 3", "--in-flight 1")];

/// Options of the search that checks promises under a bounded drift of clocks. In this search,
/// timers fire exactly when they are due. The search therefore needs no bound on the messages in
/// each link.
const CLOCK_OPTIONS: &str = "--timing synchronous --latency 0";

const MUTEX_FAULTS: &[Fault] = &[
    fault("none, links in order", "none", "--channel fifo"),
    fault("messages overtake each other", "reorder", "--channel reordered"),
    fault("a message is lost", "loss", "--lose 1"),
    fault("a message arrives twice", "dup", "--duplicate 1"),
    Fault {
        scopes: &["-n 3 --entries 1,1,0"],
        ..fault("an idle process is down", "idle", "--down 3")
    },
    Fault {
        scopes: &["-n 3 --entries 0,1,1"],
        ..fault("the first is down (the coordinator, the token)", "first", "--down 1")
    },
    fault("a process crashes at any moment", "crash", "--crash 1"),
    fault("a process is partitioned from the others", "cut", "--partition 1"),
    fault("a process crashes and recovers", "return", "--crash 1 --recover 1"),
];

const ELECTION_FAULTS: &[Fault] = &[
    fault("none, links in order", "none", "--channel fifo"),
    fault("messages overtake each other", "reorder", "--channel reordered"),
    fault("a message is lost", "loss", "--lose 1"),
    fault("a message arrives twice", "dup", "--duplicate 1"),
    Fault {
        scopes: &["-n 3 --ids 1,2,3"],
        ..fault("the largest is down before the start", "down", "--down 3")
    },
    fault("a process crashes at any moment", "crash", "--crash 1"),
    fault("timeouts are wrong", "timeouts", "--timing asynchronous --false-suspicion 1"),
    fault("a process crashes and recovers", "return", "--crash 1 --recover 1"),
];

const AGREEMENT_FAULTS: &[Fault] = &[
    fault("none, links in order", "none", "--channel fifo"),
    fault("messages overtake each other", "reorder", "--channel reordered"),
    fault("a message is lost", "loss", "--lose 1"),
    fault("a message arrives twice", "dup", "--duplicate 1"),
    fault("a process crashes at any moment", "crash", "--crash 1"),
    fault("timeouts are wrong", "timeouts", "--false-suspicion 1"),
    fault("a process is partitioned from the others", "cut", "--partition 1"),
    fault("a process crashes and recovers", "return", "--crash 1 --recover 1"),
];

/// Width of a column of the text table, in characters.
const CELL_WIDTH: usize = 8;

/// Verdict on the promises of an algorithm under one fault. The variants are ordered from the best
/// to the worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum FaultOutcome {
    /// The fault does not apply to this algorithm.
    #[default]
    None,
    Ok,
    /// All promises hold in groups of two processes. Groups of three exceed the limit on states.
    OkForTwo,
    /// The search reached its limit without finding a violation.
    Unknown,
    /// A process may wait for ever, but no safety property is violated.
    Blocked,
    Unsafe,
}

#[derive(Debug, Default, Serialize)]
struct Cell {
    verdict: FaultOutcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    property: Option<Property>,
    /// Length of the counterexample in steps; `None` if no property is violated.
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<usize>,
    /// True if the algorithm claims to tolerate this fault, but violates a promise. A process that
    /// waits for ever is no violation if [`may_block`] returns true.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    breaks_the_card: bool,
    /// True if the algorithm blocks because it has no majority: the group has two processes, and
    /// one of them crashes. False if the algorithm also blocks in another group.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    without_majority: bool,
}

#[derive(Debug, Serialize)]
struct Row {
    name: &'static str,
    cells: Vec<Cell>,
}

/// Verdicts on all compared algorithms under all faults. Serialized as the JSON output.
#[derive(Debug, Serialize)]
pub(super) struct FaultMatrix {
    service: ComparedService,
    faults: Vec<&'static str>,
    algorithms: Vec<Row>,
    #[serde(skip)]
    heads: Vec<&'static str>,
    /// Exit status of the command. It reports a violation if an algorithm breaks a promise under a
    /// fault that its [`Card`] claims to tolerate. Otherwise, it is incomplete if the command was
    /// interrupted.
    #[serde(skip)]
    pub(super) status: Status,
}

pub(super) fn check_fault_matrix(
    kind: ComparedService,
    names: &[&'static str],
) -> Result<FaultMatrix, Failure> {
    let faults = match kind {
        ComparedService::Mutex => MUTEX_FAULTS,
        ComparedService::Election => ELECTION_FAULTS,
        ComparedService::Agreement => AGREEMENT_FAULTS,
    };
    let mut algorithms = Vec::new();
    let cells = (names.len() * faults.len()) as u64;
    let line = progress_line(Some(cells), "{elapsed:>4} {bar:30} {msg}");
    let status =
        interrupt::run_each_until_interrupted(names.iter().map(|name| (*name, *name)), |name| {
            let row = algorithms.len() + 1;
            let cells = faults.iter().map(|fault| {
                line.set_message(format!("row {row} of {}: {name}, {}", names.len(), fault.name));
                let cell = cell(kind, name, fault);
                line.inc(1);
                cell
            });
            let cells = cells.collect::<Result<Vec<_>, Failure>>()?;
            // Undecided cells do not change the status, because they are a regular result of this
            // table.
            let is_broken = cells.iter().any(|cell| cell.breaks_the_card);
            algorithms.push(Row { name, cells });
            Ok(if is_broken { Status::Violated } else { Status::Success })
        })?;
    Ok(FaultMatrix {
        service: kind,
        faults: faults.iter().map(|fault| fault.name).collect(),
        heads: faults.iter().map(|fault| fault.head).collect(),
        algorithms,
        status,
    })
}

/// Checks an algorithm under a fault in groups of different sizes. Returns the worst verdict of
/// these checks, as a cell of the table.
///
/// There are two exceptions. If a group of two keeps all promises and the verdict on a group of
/// three is unknown, the cell has [`FaultOutcome::OkForTwo`]. If the fault is a wrong timeout and
/// the algorithm depends on no timeouts, nothing is checked, and the cell has
/// [`FaultOutcome::None`].
fn cell(kind: ComparedService, name: &'static str, fault: &Fault) -> Result<Cell, Failure> {
    let scopes = match (fault.scopes, kind) {
        ([], ComparedService::Mutex) => MUTEX_SCOPES,
        ([], ComparedService::Election) => ELECTION_SCOPES,
        ([], ComparedService::Agreement) if keeps_a_log(name) => LOG_SCOPES,
        ([], ComparedService::Agreement) => AGREEMENT_SCOPES,
        (scopes, _) => scopes,
    };
    let mut worst = Cell::default();
    if fault.options.contains("--false-suspicion") && !uses_timeouts(name) {
        return Ok(worst);
    }
    for scope in scopes {
        let words = format!("{name} {scope} {}", fault.options);
        let found = check_cell(&words, bound(name, &words))?;
        let found = match clocked_check(name, &words) {
            Some(clocked) => found.worse(check_cell(&clocked, "")?),
            None => found,
        };
        interrupt::fail_if_interrupted("before the first row was known")?;
        match (worst.verdict, found.verdict) {
            (FaultOutcome::Ok, FaultOutcome::Unknown) => worst.verdict = FaultOutcome::OkForTwo,
            (worse, verdict) if verdict > worse => worst = found,
            // If two groups have the same verdict, the cell shows the group that contradicts the
            // card.
            (worse, verdict) if verdict == worse && found.breaks_the_card => worst = found,
            (worse, verdict) if verdict == worse => {
                worst.without_majority &= found.without_majority;
            }
            _ => {}
        }
    }
    Ok(worst)
}

/// Returns the [`Card`] of an algorithm in a group of three processes. `None` if there is no such
/// algorithm.
fn card(name: &str) -> Option<Card> {
    tenure_instances::card(name, &Parameters::with_defaults(3)).ok()
}

/// Returns the option that limits the messages in each link in a search with the options `words`.
/// The option comes from [`HEARTBEAT_BOUNDS`]. The result is empty for an algorithm without
/// heartbeats, whose search needs no such limit.
fn bound(name: &str, words: &str) -> &'static str {
    let beats = has_heartbeats(name);
    let bounds = HEARTBEAT_BOUNDS.iter().filter(|(size, _)| beats && words.contains(size));
    bounds.map(|(_, bound)| *bound).next().unwrap_or("")
}

fn has_heartbeats(name: &str) -> bool {
    card(name).is_some_and(|card| {
        let heartbeat = card.timeouts.iter().any(|timeout| timeout.name == "heartbeat");
        heartbeat && card.service == Service::Mutex
    })
}

/// Returns the options of an additional search for promises that hold only while the drift of
/// clocks is bounded. Returns `None` if the algorithm makes no such promises, if it assumes
/// synchronous timing, or if `words` select a timing model.
fn clocked_check(name: &str, words: &str) -> Option<String> {
    let card = card(name)?;
    if words.contains("--timing") || card.timing >= Timing::Synchronous {
        return None;
    }
    let clocked: Vec<_> = card.timed_promises.iter().map(|promise| promise.name()).collect();
    let properties = clocked.join(",");
    (!clocked.is_empty()).then(|| format!("{words} {CLOCK_OPTIONS} --property {properties}"))
}

/// Returns true if the algorithm is a replicated log. The runs of a log have no end.
fn keeps_a_log(name: &str) -> bool {
    card(name).is_some_and(|card| card.service == Service::Log)
}

fn uses_timeouts(name: &str) -> bool {
    card(name).is_some_and(|card| {
        card.detection != DetectorClass::None || card.timing != Timing::Asynchronous
    })
}

fn check_cell(words: &str, bound: &str) -> Result<Cell, Failure> {
    let words = &format!("{words} {bound}");
    let words = words.trim_end();
    let beats = words.split(' ').next().is_some_and(has_heartbeats);
    let most = if beats { MAX_STATES_WITH_HEARTBEATS } else { MAX_STATES };
    let line = format!("{words} --beyond-assumptions --max-states {most}");
    let report = check::search_without_progress_line(&check::Options::parse_line(&line)?)?;
    let (verdict, property) = verdict(&report);
    let check = Some(format!("tenure check {words} --beyond-assumptions"));
    let length = property
        .and_then(|property| report.counterexample(property.name()))
        .map(Counterexample::step_count);
    let broken = match verdict {
        FaultOutcome::Blocked => !may_block(words),
        FaultOutcome::Unsafe => true,
        FaultOutcome::None | FaultOutcome::Ok | FaultOutcome::OkForTwo | FaultOutcome::Unknown => {
            false
        }
    };
    let breaks_the_card = broken && is_tolerated(words)?;
    let without_majority = verdict == FaultOutcome::Blocked && loses_majority(words);
    Ok(Cell { verdict, check, property, length, breaks_the_card, without_majority })
}

/// Returns true if an algorithm may block under the faults in `words` although it tolerates these
/// faults. This is the case for a partition, because it does not end. It is also the case for a
/// crash in a group of two, if the algorithm needs a majority.
fn may_block(words: &str) -> bool {
    words.contains(" --partition ") || loses_majority(words)
}

/// Returns true if the options in `words` can leave an algorithm without the majority that it
/// needs: the group has two processes, and one of them may crash.
fn loses_majority(words: &str) -> bool {
    let with_majority = |name: &str| {
        let card = tenure_instances::card(name, &Parameters::with_defaults(2));
        card.is_ok_and(|card| card.faults.majority)
    };
    let one_of_two = words.contains(" -n 2 ") && words.contains(" --crash ");
    one_of_two && words.split(' ').next().is_some_and(with_majority)
}

/// Returns true if the algorithm claims to tolerate the faults that the options in `words` permit.
/// The function starts a check with these options. The checker rejects faults that the [`Card`] of
/// the algorithm excludes.
fn is_tolerated(words: &str) -> Result<bool, Failure> {
    let line = format!("{words} --max-states 1");
    match check::search_without_progress_line(&check::Options::parse_line(&line)?) {
        Ok(_) => Ok(true),
        Err(failure) if failure.status == Status::Usage => Ok(false),
        Err(failure) => Err(failure),
    }
}

/// Returns the worst verdict on the properties of a report. If this verdict is a violation, also
/// returns the first property that is violated in this way.
fn verdict(report: &CheckReport) -> (FaultOutcome, Option<Property>) {
    let violated = report.properties.iter().filter(|(_, found)| *found == Judgement::Violated);
    let (waits, harms): (Vec<_>, Vec<_>) =
        violated.map(|(name, _)| *name).partition(|name| name.requires_fair_schedule());
    match (harms.into_iter().next(), waits.into_iter().next(), report.judgement()) {
        (Some(name), _, _) => (FaultOutcome::Unsafe, Some(name)),
        (None, Some(name), _) => (FaultOutcome::Blocked, Some(name)),
        (None, None, Judgement::Holds) => (FaultOutcome::Ok, None),
        (None, None, _) => (FaultOutcome::Unknown, None),
    }
}

impl Cell {
    /// Returns the cell with the worse verdict. If the verdicts are equal, prefers a cell that
    /// contradicts a claim of the algorithm.
    fn worse(self, other: Cell) -> Cell {
        let is_worse =
            other.verdict > self.verdict || other.verdict == self.verdict && other.breaks_the_card;
        if is_worse { other } else { self }
    }
}

impl FaultOutcome {
    const fn word(self) -> &'static str {
        match self {
            FaultOutcome::None => "–",
            FaultOutcome::Ok => "ok",
            FaultOutcome::OkForTwo => "ok (2)",
            FaultOutcome::Unknown => "?",
            FaultOutcome::Blocked => "blocked",
            FaultOutcome::Unsafe => "UNSAFE",
        }
    }
}

impl FaultMatrix {
    pub(super) fn table(&self) -> String {
        let mut text = format!(
            "{}: effect of one fault in groups of two and three, over all schedules\n\n",
            json_name(&self.service)
        );
        let longest = self.algorithms.iter().map(|row| row.name.len()).max().unwrap_or(0);
        let columns_per_row = (line_width().saturating_sub(longest) / CELL_WIDTH).max(1);
        for first in (0..self.heads.len()).step_by(columns_per_row) {
            let mut line = |name: &str, cells: &mut dyn Iterator<Item = &str>| {
                let cells =
                    cells.skip(first).take(columns_per_row).map(|cell| format!(" {cell:<7}"));
                let line = format!("{name:<longest$}{}", cells.collect::<String>());
                writeln!(text, "{}", line.trim_end()).expect("writing to a string succeeds");
            };
            line("", &mut self.heads.iter().copied());
            for row in &self.algorithms {
                line(row.name, &mut row.cells.iter().map(|cell| cell.verdict.word()));
            }
            text.push('\n');
        }
        for (head, name) in self.heads.iter().zip(&self.faults) {
            writeln!(text, "  {head:<9}{name}").expect("writing to a string succeeds");
        }
        text.push_str(
            "\n  ok: the promises that `tenure check` checks by default hold; blocked: a process \
             may wait\n  for ever; UNSAFE: another promise is broken; ok (2): groups of three \
             exceed the limit on\n  states; ?: groups of two as well. --format json has the \
             `tenure check` command of each cell.\n",
        );
        for row in &self.algorithms {
            for cell in row.cells.iter().filter(|cell| cell.breaks_the_card) {
                let check = cell.check.as_deref().unwrap_or_default();
                writeln!(text, "  BROKEN, contrary to the card of {}: {check}", row.name)
                    .expect("writing to a string succeeds");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocked_promises_are_checked_in_synchronous_model() {
        let words = "coordinated:raft -n 2 --entries 2 --lose 1";
        let checked = clocked_check("coordinated:raft", words).expect("it has such promises");
        let properties = "--property mutual-exclusion,fencing";
        assert_eq!(checked, format!("{words} --timing synchronous --latency 0 {properties}"));
        assert!(clocked_check("raft", "raft -n 2").is_some());
        // No second search is needed: `lease` assumes synchronous timing, and the other two have no
        // promises that hold only while clocks keep time.
        for name in ["lease", "lamport", "coordinated:bully"] {
            assert_eq!(clocked_check(name, name), None, "{name}");
        }
        assert_eq!(clocked_check("raft", "raft -n 2 --timing asynchronous"), None);
    }

    #[test]
    fn bounds_links_of_locks_with_heartbeats_only() {
        assert_eq!(bound("coordinated:raft", "coordinated:raft -n 2 --lose 1"), "--in-flight 2");
        assert_eq!(bound("coordinated:raft", "coordinated:raft -n 3 --lose 1"), "--in-flight 1");
        assert_eq!(bound("coordinated:bully", "coordinated:bully -n 3"), "");
        assert_eq!(bound("raft", "raft -n 3"), "");
    }
}
