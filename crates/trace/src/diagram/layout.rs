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
    /// Requested view.
    pub view: View,
    /// Steps, in trace order.
    pub steps: Vec<Step>,
    /// Messages, in the order of sending, or of arrival if they were sent before the window.
    pub crossings: Vec<Crossing>,
    /// Intervals in which a condition held at a process.
    pub spans: Vec<Span>,
    /// Intervals in which the network was partitioned.
    pub regions: Vec<Region>,
    /// Violations within the window.
    pub violation_marks: Vec<ViolationMark>,
    /// Number of records in the trace.
    pub records: u64,
    /// Numbers of the first and last record in the window.
    pub shown: Option<(u64, u64)>,
    /// True if the window ends before the trace does.
    pub is_cut_off: bool,
    /// Position of each column, from left to right, in hundredths of the minimum distance of two
    /// steps of one process.
    pub along: Vec<u32>,
}

/// Step of a process, or event of the network.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Process of the step; `None` for an event of the whole network or between processes.
    pub at: Option<ProcessId>,
    /// Time, in ticks since the beginning of the trace.
    pub time: u64,
    /// Number of its first record in the trace.
    pub record: u64,
    /// Cause of the step.
    pub mark: Mark,
    /// Descriptions, one line per record.
    pub words: Vec<String>,
    /// Leader and term that the process learned of.
    pub leader: Option<Term>,
    /// True if the process entered the critical section.
    pub enters: bool,
    /// True if the process left the critical section.
    pub exits: bool,
    /// Events of an agreement service, such as `decides 1`.
    pub agrees: Vec<String>,
    /// Received message, as an index into the crossings.
    pub received: Option<usize>,
    /// Number among the steps of the run, if it counts as one.
    pub number: Option<u64>,
    /// Position on the scale: the time (0 on the causal scale), and the length of the longest
    /// causal chain within that time that ends with the step.
    pub moment: (u64, u64),
    /// Column of the step.
    pub column: usize,
    /// Clock value, if requested: one number for Lamport's clock, one per process for a vector
    /// clock.
    pub clock: Vec<u64>,
}

/// Cause of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A message was received.
    Receives,
    /// No recorded cause; the process acted by itself.
    Acts,
    /// Another cause, in a few words: a command, a timer, a suspicion.
    Says(String),
    /// The process crashed.
    Crashes,
    /// The process recovered.
    Recovers,
    /// A message was lost; index into the crossings.
    Loses(usize),
    /// A message was duplicated; index into the crossings.
    Duplicates(usize),
    /// The network changed.
    Network(String),
    /// A note in the trace, such as an injected fault.
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
    /// Index of its kind. Kinds are numbered from 0 in the order of their first message, including
    /// messages before the window.
    pub kind: usize,
    /// Requested fields of the content.
    pub description: String,
    /// Step that sent it; `None` if it lies before the window.
    pub sent: Option<usize>,
    /// Step at which it arrived or was lost.
    pub ended: Option<usize>,
    /// Outcome of the message.
    pub fate: MessageOutcome,
    /// True if the message carries a token.
    pub token: bool,
}

/// Outcome of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageOutcome {
    /// The message arrived.
    Arrives,
    /// The message was lost.
    Lost,
    /// The outcome lies after the window.
    UnderWay,
}

/// Interval in which a condition held at a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Process of the interval.
    pub at: ProcessId,
    /// Condition that held.
    pub condition: Condition,
    /// First step; `None` if it lies before the window.
    pub from: Option<usize>,
    /// Last step; `None` if the condition still holds at the end.
    pub until: Option<usize>,
}

/// Interval in which the network was partitioned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// First step; `None` if it lies before the window.
    pub from: Option<usize>,
    /// Last step; `None` if the partition lasts to the end.
    pub until: Option<usize>,
    /// Sides of the partition.
    pub sides: Vec<Vec<ProcessId>>,
}

impl Layout {
    /// Returns the number of processes.
    pub fn size(&self) -> usize {
        self.header.n as usize
    }

    /// Returns the position of a step on the axis, in hundredths of the minimum distance of two
    /// steps of one process.
    pub fn place(&self, step: usize) -> u32 {
        self.along.get(self.steps[step].column).copied().unwrap_or(0)
    }

    /// Returns the end of the axis.
    pub fn end(&self) -> u32 {
        self.along.last().copied().unwrap_or(0)
    }

    /// Formats the time of a step: in units, or in milliseconds of real time.
    pub fn time(&self, step: usize) -> String {
        crate::show::units(self.steps[step].time)
    }

    /// Returns the unit of times.
    pub fn unit(&self) -> &'static str {
        unit_of(&self.header)
    }

    /// Formats the clock of a step: `3`, or `[1,0,2]`; empty without a clock.
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

    /// Describes the step and the event that its user received.
    pub(crate) fn description(&self, step: &Step) -> String {
        let mut description: Vec<String> = Vec::new();
        match &step.mark {
            Mark::Says(text) | Mark::Note(text) => description.push(text.clone()),
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

    /// Describes the view in a sentence.
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
    /// Escapes the descriptions of the step.
    pub(super) fn plain(self) -> Self {
        let seen = |text: String| plain(&text).into_owned();
        match self {
            Mark::Says(text) => Mark::Says(seen(text)),
            Mark::Network(text) => Mark::Network(seen(text)),
            Mark::Note(text) => Mark::Note(seen(text)),
            other => other,
        }
    }
}

impl Step {
    /// True if the step belongs to a process, not to the network.
    pub fn is_own(&self) -> bool {
        self.at.is_some() && !matches!(self.mark, Mark::Loses(_) | Mark::Duplicates(_))
    }
}

impl Crossing {
    /// Returns the text of the label on the arrow.
    pub fn label(&self) -> String {
        if self.description.is_empty() {
            return self.message.to_string();
        }
        format!("{} {}", self.message, self.description)
    }
}
