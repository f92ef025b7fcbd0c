//! Layout of a run: its steps, messages and intervals, independent of the output format.

use std::borrow::Cow;

use tenure_core::{Layer, ProcessId, Term};

use super::view::View;
use super::violations::ViolationMark;
pub use crate::fold::process_state::Condition;
use crate::format::{ClockUnit, Header};
use crate::plain::plain;

/// Everything that a picture of a run shows, with positions: steps, messages and intervals.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Header of the trace.
    pub header: Header,
    /// View that the reader requested: scale, clock, window and fields.
    pub view: View,
    /// Steps, in trace order.
    pub steps: Vec<Step>,
    /// Messages in the order of sending. A message that was sent before the window has its place by
    /// arrival.
    pub crossings: Vec<Crossing>,
    /// Intervals in which a condition held at a process.
    pub spans: Vec<Span>,
    /// Intervals in which the network was partitioned.
    pub regions: Vec<Region>,
    /// Violations within the window.
    pub violation_marks: Vec<ViolationMark>,
    /// Number of records in the trace.
    pub records: u64,
    /// Numbers of the first and the last record in the window. `None` if the window contains none.
    pub shown: Option<(u64, u64)>,
    /// True if the trace contains records after the window.
    pub is_cut_off: bool,
    /// Position of each column, from left to right, in hundredths of the minimum distance of two
    /// steps of one process.
    pub along: Vec<u32>,
}

/// Step of a process, or event of the network.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Process that takes the step. `None` for an event of the network, or of a message between
    /// processes.
    pub at: Option<ProcessId>,
    /// Time of the step, in ticks since the beginning of the trace.
    pub time: u64,
    /// Number of the first record of the step, from 1.
    pub record: u64,
    /// Cause of the step.
    pub mark: Mark,
    /// Descriptions of the records of the step, one for each.
    pub words: Vec<String>,
    /// Leader of which the process learned in this step, with its term.
    pub leader: Option<Term>,
    /// True if the process entered the critical section.
    pub enters: bool,
    /// True if the process left the critical section.
    pub exits: bool,
    /// Descriptions of the events of an agreement service in this step, such as `decides 1`.
    pub agrees: Vec<String>,
    /// Index of the message that the process received, in [`Layout::crossings`].
    pub received: Option<usize>,
    /// Number of the step in the run. `None` if it does not count as a step.
    pub number: Option<u64>,
    /// Position of the step on the scale. The first number is the time, or 0 on the causal scale.
    /// The second is the length of the longest causal chain that ends with the step, among steps at
    /// the same time.
    pub moment: (u64, u64),
    /// Index of the step's column in [`Layout::along`].
    pub column: usize,
    /// Clock value of the step: one number for Lamport's clock, one per process for a vector clock.
    /// Empty if no clock was requested.
    pub clock: Vec<u64>,
}

/// Cause of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The process received a message.
    Receives,
    /// The process acted without a recorded cause.
    Acts,
    /// The process had another cause, described in a few words: a command, a timer, a suspicion.
    OtherCause(String),
    /// The process crashed.
    Crashes,
    /// The process recovered.
    Recovers,
    /// A message was lost, with this index in the crossings.
    Loses(usize),
    /// A message was duplicated. The copy has this index in the crossings.
    Duplicates(usize),
    /// The network changed, as described: a partition began or ended.
    Network(String),
    /// The trace contains a note, such as the description of an injected fault.
    Note(String),
}

/// Message between two processes.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossing {
    /// Sender.
    pub from: ProcessId,
    /// Receiver.
    pub to: ProcessId,
    /// Name of the message.
    pub message: Cow<'static, str>,
    /// Layer of the message.
    pub layer: Layer,
    /// Number of the message's kind, from 0. Kinds are numbered in the order of their first
    /// message, including messages before the window.
    pub kind: usize,
    /// The fields of the content that the view requests, as text.
    pub description: String,
    /// Step that sent the message. `None` if it lies before the window.
    pub sent: Option<usize>,
    /// Step in which the message arrived or was lost. `None` if it lies after the window.
    pub ended: Option<usize>,
    /// Outcome of the message.
    pub fate: MessageOutcome,
    /// True if the message carries a token.
    pub token: bool,
}

/// Outcome of a message. The viewer of HTML pages reads these numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageOutcome {
    /// The message arrived.
    Arrives = 0,
    /// The message was lost.
    Lost = 1,
    /// The message neither arrived nor was lost in the window.
    UnderWay = 2,
}

/// Interval in which a condition held at a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Process of the interval.
    pub at: ProcessId,
    /// Condition that held.
    pub condition: Condition,
    /// First step of the interval. `None` if it lies before the window.
    pub from: Option<usize>,
    /// Step that ends the interval. `None` if the condition still holds at the end.
    pub until: Option<usize>,
}

/// Interval in which the network was partitioned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// First step of the partition. `None` if it lies before the window.
    pub from: Option<usize>,
    /// Step that ends the partition. `None` if it lasts to the end.
    pub until: Option<usize>,
    /// Sides of the partition: the processes that can reach each other.
    pub sides: Vec<Vec<ProcessId>>,
}

impl Layout {
    /// Returns the number of processes.
    pub fn size(&self) -> usize {
        self.header.n as usize
    }

    /// Returns the position of a step along the axis, in hundredths of the minimum distance of two
    /// steps of one process.
    pub fn place(&self, step: usize) -> u32 {
        self.along.get(self.steps[step].column).copied().unwrap_or(0)
    }

    /// Returns the position of the end of the axis, in the same unit as [`Layout::place`].
    pub fn end(&self) -> u32 {
        self.along.last().copied().unwrap_or(0)
    }

    /// Formats the time of a step: in units, or in milliseconds of real time.
    pub fn time(&self, step: usize) -> String {
        crate::show::units(self.steps[step].time)
    }

    /// Returns the unit of the displayed times, such as `ms`.
    pub fn unit(&self) -> &'static str {
        unit_of(&self.header)
    }

    /// Formats the clock of a step, as `3` or `[1,0,2]`. Returns an empty string if no clock was
    /// requested.
    pub fn clock(&self, step: usize) -> String {
        match self.steps[step].clock.as_slice() {
            [] => String::new(),
            [lamport] if self.view.clock == super::Clock::Lamport => lamport.to_string(),
            counts => {
                let counts: Vec<String> = counts.iter().map(u64::to_string).collect();
                format!("[{}]", counts.join(","))
            }
        }
    }

    /// Describes the step in words: its cause, and what the user of the process learned.
    pub(crate) fn description(&self, step: &Step) -> String {
        let mut description: Vec<String> = Vec::new();
        match &step.mark {
            Mark::OtherCause(text) | Mark::Note(text) => description.push(text.clone()),
            Mark::Crashes => description.push("crashes".to_owned()),
            Mark::Recovers => description.push("recovers".to_owned()),
            _ => {}
        }
        if step.enters {
            description.push("enters".to_owned());
        }
        if step.exits && !description.iter().any(|said| said == "exits") {
            description.push("exits".to_owned());
        }
        description.extend(step.agrees.iter().cloned());
        // A replicated log describes its leader in its own event.
        if let Some(term) = step.leader.filter(|_| step.agrees.is_empty()) {
            let leads = step.at == Some(term.leader);
            let who = if leads { "leads".into() } else { format!("{} leads", term.leader) };
            description.push(who + &crate::show::in_term(term));
        }
        description.join(", ")
    }

    /// Describes the view in one line: the algorithm, the number of processes, and the window.
    pub fn caption(&self) -> String {
        let Header { algorithm, n, .. } = &self.header;
        let processes = if *n == 1 { "process" } else { "processes" };
        let mut caption = format!("{}, {n} {processes}", plain(algorithm));
        if let Some((first, last)) = self.shown
            && (first > 1 || self.is_cut_off)
        {
            caption += &format!(", events {first} to {last} of {}", self.records);
        }
        caption
    }
}

/// Returns the name of the time unit of a trace.
pub(super) fn unit_of(header: &Header) -> &'static str {
    match header.clock {
        ClockUnit::Tick => "units",
        ClockUnit::Nanosecond => "ms",
    }
}

impl Mark {
    /// Returns the mark with invisible characters of its text escaped.
    pub(super) fn plain(self) -> Self {
        let seen = |text: String| plain(&text).into_owned();
        match self {
            Mark::OtherCause(text) => Mark::OtherCause(seen(text)),
            Mark::Network(text) => Mark::Network(seen(text)),
            Mark::Note(text) => Mark::Note(seen(text)),
            other => other,
        }
    }
}

impl Step {
    /// Returns true if the step belongs to a process, and not to the network or a message.
    pub fn is_own(&self) -> bool {
        self.at.is_some() && !matches!(self.mark, Mark::Loses(_) | Mark::Duplicates(_))
    }
}

impl Crossing {
    /// Returns the label of the message's arrow: its name and the requested fields.
    pub fn label(&self) -> String {
        if self.description.is_empty() {
            return self.message.to_string();
        }
        format!("{} {}", self.message, self.description)
    }
}
