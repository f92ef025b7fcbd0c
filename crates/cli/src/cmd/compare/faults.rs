//! What one fault does to each algorithm, as the checker finds it in small groups.

use std::fmt::Write;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use tenure_algorithms::catalogue::Parameters;
use tenure_check::{Counterexample, Judgement, Report};
use tenure_core::{Detection, Property, Service, Timing};

use super::Kind;
use crate::cmd::check;
use crate::cmd::failure::{Failure, Status};
use crate::cmd::interrupt;
use crate::cmd::output::width;

/// Larger searches are given up; what they did not decide is told as such.
const MOST_STATES: u64 = 400_000;

/// The same where a leader sends heartbeats: few of these searches come to an end, and each state
/// costs more.
const MOST_STATES_BEATING: u64 = 200_000;

/// One column of the table: a fault, and the options of `tenure check` that make it.
struct Fault {
    name: &'static str,
    /// What its column is called.
    head: &'static str,
    options: &'static str,
    /// What the users do, in groups of two and of three.
    scopes: &'static [&'static str],
}

const fn fault(name: &'static str, head: &'static str, options: &'static str) -> Fault {
    Fault { name, head, options, scopes: &[] }
}

const ENTRIES: &[&str] = &["-n 2 --entries 2", "-n 3 --entries 1"];
const STARTS: &[&str] = &["-n 2", "-n 3 --ids 3,1,2"];
const ASKED: &[&str] = &["-n 2", "-n 3"];
/// Whoever leads goes on to send: its worlds end where a link holds one message at a time.
const LOGGED: &[&str] = &["-n 2 --in-flight 1", "-n 3 --in-flight 1"];

/// Bounds for a lock whose leader sends heartbeats.
const BEATING: &[(&str, &str)] = &[("-n 2", "--in-flight 2"), ("-n 3", "--in-flight 1")];

/// Time in which promises are checked that hold while clocks keep time. A timer fires when it is
/// due, so links need no bound.
const CLOCKED: &str = "--timing synchronous --latency 0";

const OF_MUTEX: &[Fault] = &[
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
    fault("one is cut off from the others", "cut", "--partition 1"),
    fault("a process crashes and comes back", "return", "--crash 1 --recover 1"),
];

const OF_ELECTION: &[Fault] = &[
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
    fault("a process crashes and comes back", "return", "--crash 1 --recover 1"),
];

const OF_AGREEMENT: &[Fault] = &[
    fault("none, links in order", "none", "--channel fifo"),
    fault("messages overtake each other", "reorder", "--channel reordered"),
    fault("a message is lost", "loss", "--lose 1"),
    fault("a message arrives twice", "dup", "--duplicate 1"),
    fault("a process crashes at any moment", "crash", "--crash 1"),
    fault("timeouts are wrong", "timeouts", "--false-suspicion 1"),
    fault("one is cut off from the others", "cut", "--partition 1"),
    fault("a process crashes and comes back", "return", "--crash 1 --recover 1"),
];

/// How wide a column of the table is.
const CELL: usize = 8;

/// What became of the promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    /// There is no such fault for this algorithm.
    None,
    /// All promises hold.
    Ok,
    /// They do in groups of two; groups of three have more worlds than were searched.
    OkForTwo,
    /// The search was given up before it was done, and had found nothing.
    Unknown,
    /// Somebody may wait for ever.
    Blocked,
    /// Something happens that must not.
    Unsafe,
}

/// One cell.
#[derive(Debug, Serialize)]
struct Cell {
    verdict: Verdict,
    /// The command that shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<String>,
    /// The property that is violated.
    #[serde(skip_serializing_if = "Option::is_none")]
    property: Option<Property>,
    /// How many steps that takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<usize>,
    /// Whether the card says that this fault is survived.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    breaks_the_card: bool,
    /// Whether it is blocked where one of two crashes, as one of two is no majority.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    without_majority: bool,
}

/// One algorithm against all faults.
#[derive(Debug, Serialize)]
struct Row {
    name: &'static str,
    cells: Vec<Cell>,
}

/// The matrix as JSON.
#[derive(Debug, Serialize)]
pub(super) struct Matrix {
    service: &'static str,
    /// By column.
    faults: Vec<&'static str>,
    algorithms: Vec<Row>,
    #[serde(skip)]
    heads: Vec<&'static str>,
    /// What it came to, on the whole.
    #[serde(skip)]
    pub(super) status: Status,
}

/// Checks these algorithms of a service against every fault.
pub(super) fn matrix(kind: Kind, rows: &[&'static str]) -> Result<Matrix, Failure> {
    let faults = match kind {
        Kind::Mutex => OF_MUTEX,
        Kind::Election => OF_ELECTION,
        Kind::Agreement => OF_AGREEMENT,
    };
    let mut algorithms = Vec::new();
    let line = follow(rows.len() * faults.len());
    let status = interrupt::one_by_one(rows.iter().map(|name| (*name, *name)), |name| {
        let row = algorithms.len() + 1;
        let cells = faults.iter().map(|fault| {
            line.set_message(format!("row {row} of {}: {name}, {}", rows.len(), fault.name));
            let cell = cell(kind, name, fault);
            line.inc(1);
            cell
        });
        let cells = cells.collect::<Result<Vec<_>, Failure>>()?;
        // What has more worlds than are searched is told as such: that is the table, and all of it.
        let is_broken = cells.iter().any(|cell| cell.breaks_the_card);
        algorithms.push(Row { name, cells });
        Ok(if is_broken { Status::Violated } else { Status::Held })
    })?;
    Ok(Matrix {
        service: kind.name(),
        faults: faults.iter().map(|fault| fault.name).collect(),
        heads: faults.iter().map(|fault| fault.head).collect(),
        algorithms,
        status,
    })
}

/// A line on standard error that follows the cells; only on a terminal, where it vanishes.
fn follow(cells: usize) -> ProgressBar {
    let line = ProgressBar::new(cells as u64);
    if let Ok(style) = ProgressStyle::with_template("{elapsed:>4} {bar:30} {msg}") {
        line.set_style(style);
    }
    line.enable_steady_tick(Duration::from_millis(200));
    line
}

/// The worst that any of the scopes shows.
fn cell(kind: Kind, name: &'static str, fault: &Fault) -> Result<Cell, Failure> {
    let scopes = match (fault.scopes, kind) {
        ([], Kind::Mutex) => ENTRIES,
        ([], Kind::Election) => STARTS,
        ([], Kind::Agreement) if keeps_a_log(name) => LOGGED,
        ([], Kind::Agreement) => ASKED,
        (scopes, _) => scopes,
    };
    let mut worst = Cell {
        verdict: Verdict::None,
        check: None,
        property: None,
        length: None,
        breaks_the_card: false,
        without_majority: false,
    };
    if fault.options.contains("--false-suspicion") && !suspects(name) {
        return Ok(worst);
    }
    for scope in scopes {
        let words = format!("{name} {scope} {}", fault.options);
        let found = judged(&words, bound(name, &words))?;
        let found = match clocked(name, &words) {
            Some(clocked) => found.and(judged(&clocked, "")?),
            None => found,
        };
        interrupt::check("before the first row was known")?;
        match (worst.verdict, found.verdict) {
            (Verdict::Ok, Verdict::Unknown) => worst.verdict = Verdict::OkForTwo,
            (worse, verdict) if verdict > worse => worst = found,
            // Of two groups that wait, the one that should not is told.
            (worse, verdict) if verdict == worse && found.breaks_the_card => worst = found,
            (worse, verdict) if verdict == worse => {
                worst.without_majority &= found.without_majority;
            }
            _ => {}
        }
    }
    Ok(worst)
}

/// Returns the bound on messages under way that keeps a search finite.
fn bound(name: &str, words: &str) -> &'static str {
    let beats = has_heartbeats(name);
    let bounds = BEATING.iter().filter(|(size, _)| beats && words.contains(size));
    bounds.map(|(_, bound)| *bound).next().unwrap_or("")
}

/// Returns true for a lock whose leader sends heartbeats.
fn has_heartbeats(name: &str) -> bool {
    let card = tenure_instances::card(name, &Parameters::plain(3));
    card.is_ok_and(|card| {
        let heartbeat = card.timeouts.iter().any(|timeout| timeout.name == "heartbeat");
        heartbeat && card.service == Service::Mutex
    })
}

/// Returns the check of what a card promises while clocks keep time, if these words leave that out.
fn clocked(name: &str, words: &str) -> Option<String> {
    let card = tenure_instances::card(name, &Parameters::plain(3)).ok()?;
    if words.contains("--timing") || card.timing == Timing::Synchronous {
        return None;
    }
    let clocked: Vec<_> = card.clocked.iter().map(|promise| promise.name()).collect();
    let properties = clocked.join(",");
    (!clocked.is_empty()).then(|| format!("{words} {CLOCKED} --property {properties}"))
}

/// Whether an algorithm offers a log, which never comes to an end.
fn keeps_a_log(name: &str) -> bool {
    let card = tenure_instances::card(name, &Parameters::plain(3));
    card.is_ok_and(|card| card.service == Service::Log)
}

/// Whether an algorithm has timeouts of its own or listens to a detector.
fn suspects(name: &str) -> bool {
    let card = tenure_instances::card(name, &Parameters::plain(3));
    card.is_ok_and(|card| card.detection != Detection::None || card.timing != Timing::Asynchronous)
}

/// What `tenure check` says to these words, within a bound.
fn judged(words: &str, bound: &str) -> Result<Cell, Failure> {
    let words = &format!("{words} {bound}");
    let words = words.trim_end();
    let beats = words.split(' ').next().is_some_and(has_heartbeats);
    let most = if beats { MOST_STATES_BEATING } else { MOST_STATES };
    let line = format!("{words} --beyond-assumptions --max-states {most}");
    let report = check::quiet_report(&check::Options::of(&line)?)?;
    let (verdict, property) = verdict(&report);
    let check = Some(format!("tenure check {words} --beyond-assumptions"));
    let length = property
        .and_then(|property| report.counterexample(property.name()))
        .map(Counterexample::length);
    let broken = match verdict {
        Verdict::Blocked => !may_wait(words),
        Verdict::Unsafe => true,
        Verdict::None | Verdict::Ok | Verdict::OkForTwo | Verdict::Unknown => false,
    };
    let breaks_the_card = broken && is_survived(words)?;
    let without_majority = verdict == Verdict::Blocked && loses_its_majority(words);
    Ok(Cell { verdict, check, property, length, breaks_the_card, without_majority })
}

/// Whether somebody may wait for ever and no card is broken: a cut lasts for ever, and one of two
/// is no majority.
fn may_wait(words: &str) -> bool {
    words.contains(" --partition ") || loses_its_majority(words)
}

/// Whether one of two may crash where a majority is needed.
fn loses_its_majority(words: &str) -> bool {
    let of_majority = |name: &str| {
        let card = tenure_instances::card(name, &Parameters::plain(2));
        card.is_ok_and(|card| card.faults.majority)
    };
    let one_of_two = words.contains(" -n 2 ") && words.contains(" --crash ");
    one_of_two && words.split(' ').next().is_some_and(of_majority)
}

/// Whether a card says that what happens in a check is survived: it is refused otherwise.
fn is_survived(words: &str) -> Result<bool, Failure> {
    let line = format!("{words} --max-states 1");
    match check::quiet_report(&check::Options::of(&line)?) {
        Ok(_) => Ok(true),
        Err(failure) if failure.status == Status::Usage => Ok(false),
        Err(failure) => Err(failure),
    }
}

/// The worst of all properties, and one that shows it.
fn verdict(report: &Report) -> (Verdict, Option<Property>) {
    let violated = report.properties.iter().filter(|(_, found)| *found == Judgement::Violated);
    let (waits, harms): (Vec<_>, Vec<_>) =
        violated.map(|(name, _)| *name).partition(|name| name.is_of_liveness());
    match (harms.into_iter().next(), waits.into_iter().next(), report.judgement()) {
        (Some(name), _, _) => (Verdict::Unsafe, Some(name)),
        (None, Some(name), _) => (Verdict::Blocked, Some(name)),
        (None, None, Judgement::Holds) => (Verdict::Ok, None),
        (None, None, _) => (Verdict::Unknown, None),
    }
}

impl Cell {
    /// The worse of two checks of one fault.
    fn and(self, other: Cell) -> Cell {
        let is_worse =
            other.verdict > self.verdict || other.verdict == self.verdict && other.breaks_the_card;
        if is_worse { other } else { self }
    }
}

impl Verdict {
    const fn word(self) -> &'static str {
        match self {
            Verdict::None => "–",
            Verdict::Ok => "ok",
            Verdict::OkForTwo => "ok (2)",
            Verdict::Unknown => "?",
            Verdict::Blocked => "blocked",
            Verdict::Unsafe => "UNSAFE",
        }
    }
}

impl Matrix {
    /// The matrix for people: a line for each algorithm.
    pub(super) fn table(&self) -> String {
        let mut text = format!(
            "{}: what one fault does in groups of two and three, whatever the schedule\n\n",
            self.service
        );
        let longest = self.algorithms.iter().map(|row| row.name.len()).max().unwrap_or(0);
        let beside = (width().saturating_sub(longest) / CELL).max(1);
        for first in (0..self.heads.len()).step_by(beside) {
            let mut line = |name: &str, cells: &mut dyn Iterator<Item = &str>| {
                let cells = cells.skip(first).take(beside).map(|cell| format!(" {cell:<7}"));
                let line = format!("{name:<longest$}{}", cells.collect::<String>());
                writeln!(text, "{}", line.trim_end()).expect("a string takes everything");
            };
            line("", &mut self.heads.iter().copied());
            for row in &self.algorithms {
                line(row.name, &mut row.cells.iter().map(|cell| cell.verdict.word()));
            }
            text.push('\n');
        }
        for (head, name) in self.heads.iter().zip(&self.faults) {
            writeln!(text, "  {head:<9}{name}").expect("a string takes everything");
        }
        text.push_str(
            "\n  ok: all promises of the card hold; blocked: somebody may wait for ever; UNSAFE: \
             another\n  promise is broken; ok (2): groups of three have more worlds than were \
             searched; ?: those of\n  two as well. Each cell is a `tenure check`, which --format \
             json names.\n",
        );
        for row in &self.algorithms {
            for cell in row.cells.iter().filter(|cell| cell.breaks_the_card) {
                let check = cell.check.as_deref().unwrap_or_default();
                writeln!(text, "  BROKEN, though the card of {} says otherwise: {check}", row.name)
                    .expect("a string takes everything");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promises_that_rest_on_clocks_are_checked_where_timers_keep_time() {
        let words = "coordinated:raft -n 2 --entries 2 --lose 1";
        let checked = clocked("coordinated:raft", words).expect("it has such promises");
        let properties = "--property mutual-exclusion,fencing";
        assert_eq!(checked, format!("{words} --timing synchronous --latency 0 {properties}"));
        assert!(clocked("raft", "raft -n 2").is_some());
        // The lease is synchronous anyway, and the others promise nothing of the kind.
        for name in ["lease", "lamport", "coordinated:bully"] {
            assert_eq!(clocked(name, name), None, "{name}");
        }
        assert_eq!(clocked("raft", "raft -n 2 --timing asynchronous"), None);
    }

    #[test]
    fn only_a_lock_with_heartbeats_has_bounded_links() {
        assert_eq!(bound("coordinated:raft", "coordinated:raft -n 2 --lose 1"), "--in-flight 2");
        assert_eq!(bound("coordinated:raft", "coordinated:raft -n 3 --lose 1"), "--in-flight 1");
        assert_eq!(bound("coordinated:bully", "coordinated:bully -n 3"), "");
        assert_eq!(bound("raft", "raft -n 3"), "");
    }
}
