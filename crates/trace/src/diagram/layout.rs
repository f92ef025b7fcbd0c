//! Layout of a run: its steps, messages and intervals, independent of the output format.

use std::borrow::Cow;

use tenure_core::{Layer, ProcessId, Term};

use super::options::DiagramOptions;
use super::violations::ViolationMark;
use crate::escaping::escape_invisible;
pub use crate::fold::process_state::ProcessCondition;
use crate::format::Header;

/// Steps, messages and intervals of a run, with their positions in a picture.
#[derive(Clone, Debug)]
pub struct DiagramLayout {
    /// Header of the trace.
    pub header: Header,
    /// Options of the diagram: scale, clock, window and fields.
    pub options: DiagramOptions,
    /// Steps, in trace order.
    pub steps: Vec<DiagramStep>,
    /// Messages in the order in which they were sent. A message that was sent before the window is
    /// listed at the place of its arrival or loss, and a copy at the place of its duplication.
    pub arrows: Vec<MessageArrow>,
    /// Intervals in which a condition held at a process.
    pub spans: Vec<ConditionSpan>,
    /// Intervals in which the network was partitioned.
    pub partition_spans: Vec<PartitionSpan>,
    /// Violations of promised properties within the window.
    pub violation_marks: Vec<ViolationMark>,
    /// Number of records in the trace, inside and outside of the window.
    pub record_count: u64,
    /// Range of the records in the window: the numbers of the first and the last record. `None` if
    /// the window contains no record.
    pub shown_records: Option<(u64, u64)>,
    /// True if the trace contains records after the window.
    pub is_cut_off: bool,
    /// Position of each column on the time axis, in ascending order. The unit is a hundredth of the
    /// minimum distance of two steps of one process.
    pub column_positions: Vec<u32>,
}

/// Step of a process, event of the network, or note.
#[derive(Clone, Debug, PartialEq)]
pub struct DiagramStep {
    /// Process that takes the step, or the sender if the step loses or duplicates a message. `None`
    /// for an event of the network, and for a note that concerns no process.
    pub at: Option<ProcessId>,
    /// Time of the step, in ticks or nanoseconds. Virtual time counts from 0, and real time from
    /// the first record.
    pub time: u64,
    /// Number of the first record of the step, from 1.
    pub first_record_number: u64,
    /// Cause of the step.
    pub cause: StepCause,
    /// Descriptions of the first record of the step, and of the events and sent messages that
    /// follow in the step. Each description is for one record.
    pub descriptions: Vec<String>,
    /// Leader that the process learned of in this step, and its term. `None` if it learned of no
    /// leader.
    pub leader: Option<Term>,
    /// True if the process entered the critical section.
    pub enters: bool,
    /// True if the process left the critical section.
    pub exits: bool,
    /// Descriptions of the events of an agreement service in this step, such as `decides 1`.
    pub agreement_events: Vec<String>,
    /// Index in [`DiagramLayout::arrows`] of the message that the process received. `None` if the
    /// process received no message in this step.
    pub received: Option<usize>,
    /// Number of the step in the run, from 1. `None` for notes and boots, and for the rest of a
    /// step that began before the window.
    pub number: Option<u64>,
    /// Position of the step in the order of all steps along the time axis. On the [causal
    /// scale](super::TimeAxis::Causal), the first number is 0. On the time scale, it is the time
    /// of the step, or the time of an earlier step on which this step depends if that time is
    /// later. The second number orders the steps with the same first number: it is larger in a
    /// dependent step.
    pub axis_order: (u64, u64),
    /// Index of the step's column. Steps with the same `axis_order` share a column.
    /// [`DiagramLayout::column_positions`] contains the position of each column.
    pub column: usize,
    /// Clock of the step: one number for Lamport's clock, one number per process for a vector
    /// clock. Empty if no clock was requested, and for notes, events of the network, losses and
    /// duplications.
    pub clock: Vec<u64>,
}

/// Cause of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepCause {
    /// The process received a message.
    Receives,
    /// The process took a step, but the trace contains no record of its cause, or the step began
    /// before the window.
    UnknownCause,
    /// The process took a step for another reason, described in a few words, such as a command, a
    /// timer or a suspicion.
    OtherCause(String),
    /// The process crashed.
    Crashes,
    /// The process recovered, or booted again.
    Recovers,
    /// A message was lost. The number is the index of the message in [`DiagramLayout::arrows`].
    Loses(usize),
    /// A message was duplicated. The number is the index of the copy in [`DiagramLayout::arrows`].
    Duplicates(usize),
    /// A partition of the network began or ended. The text describes this change.
    Network(String),
    /// A note, such as the description of an injected fault, or an access that the resource
    /// rejected. The text describes it.
    Note(String),
}

/// Message between two processes, which diagrams draw as an arrow.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageArrow {
    /// Process that sent the message.
    pub from: ProcessId,
    /// Process to which the message was sent.
    pub to: ProcessId,
    /// Name of the message.
    pub message: Cow<'static, str>,
    /// Protocol layer to which the message belongs, for instance the lock or the failure detector.
    pub layer: Layer,
    /// Number of the message's kind, from 0. Kinds are numbered in the order of their first
    /// messages in the trace.
    pub kind_index: usize,
    /// Values of the message fields that the diagram options select, as text. Empty if there are
    /// none.
    pub selected_fields: String,
    /// Index of the step that sent the message. `None` if the window contains no such step.
    pub sent_in_step: Option<usize>,
    /// Index of the step in which the message arrived or was lost. `None` if the window contains no
    /// such step.
    pub ended_in_step: Option<usize>,
    /// Outcome of the message.
    pub outcome: MessageOutcome,
    /// True if the message carries a token.
    pub carries_token: bool,
}

/// Outcome of a message. The scripts of HTML pages use the numbers of the variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageOutcome {
    /// The message arrived.
    Arrives = 0,
    /// The message was lost.
    Lost = 1,
    /// The message neither arrived nor was lost before the end of the window.
    UnderWay = 2,
}

/// Interval in which a condition held at a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionSpan {
    /// Process at which the condition held.
    pub at: ProcessId,
    /// Condition that held.
    pub condition: ProcessCondition,
    /// Index of the step in which the condition began. `None` if the condition held at the
    /// beginning of the window.
    pub from: Option<usize>,
    /// Index of the step in which the condition ended. `None` if the condition still holds at the
    /// end of the window.
    pub until: Option<usize>,
}

/// Interval in which the network was partitioned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionSpan {
    /// Index of the step in which the partition began. `None` if the network was partitioned at the
    /// beginning of the window.
    pub from: Option<usize>,
    /// Index of the step in which the partition ended. `None` if the partition lasts to the end of
    /// the window.
    pub until: Option<usize>,
    /// Sides of the partition. The processes of a side can reach each other.
    pub sides: Vec<Vec<ProcessId>>,
}

impl DiagramLayout {
    /// Returns the number of processes in the group.
    pub fn process_count(&self) -> usize {
        self.header.n as usize
    }

    /// Returns the position of a step on the time axis, in the unit of
    /// [`DiagramLayout::column_positions`].
    pub fn axis_position(&self, step: usize) -> u32 {
        self.column_positions.get(self.steps[step].column).copied().unwrap_or(0)
    }

    /// Returns the position of the last column, at the right or lower end of the time axis. The
    /// unit is that of [`DiagramLayout::column_positions`]. Returns 0 if there is no column.
    pub fn axis_end(&self) -> u32 {
        self.column_positions.last().copied().unwrap_or(0)
    }

    /// Formats the time of a step: in units of virtual time, or in milliseconds of real time.
    pub fn time_label(&self, step: usize) -> String {
        crate::show::format_ticks_briefly(self.steps[step].time)
    }

    /// Returns the unit of the displayed times, such as `ms`.
    pub fn time_unit(&self) -> &'static str {
        self.header.clock.display_unit_name()
    }

    /// Formats the clock of a step, as `3` or `[1,0,2]`. Returns an empty string if the step has no
    /// clock.
    pub fn clock_label(&self, step: usize) -> String {
        match self.steps[step].clock.as_slice() {
            [] => String::new(),
            [lamport] if self.options.clock == super::DiagramClock::Lamport => lamport.to_string(),
            counts => {
                let counts: Vec<String> = counts.iter().map(u64::to_string).collect();
                format!("[{}]", counts.join(","))
            }
        }
    }

    /// Describes the step in words: its cause, and what the user of the process learned. Omits a
    /// cause that is a message or an event of the network.
    pub(crate) fn step_description(&self, step: &DiagramStep) -> String {
        let mut description: Vec<String> = Vec::new();
        match &step.cause {
            StepCause::OtherCause(text) | StepCause::Note(text) => description.push(text.clone()),
            StepCause::Crashes => description.push("crashes".to_owned()),
            StepCause::Recovers => description.push("recovers".to_owned()),
            _ => {}
        }
        if step.enters {
            description.push("enters".to_owned());
        }
        if step.exits && !description.iter().any(|said| said == "exits") {
            description.push("exits".to_owned());
        }
        description.extend(step.agreement_events.iter().cloned());
        // In a replicated log, the agreement events already describe the leader.
        if let Some(term) = step.leader.filter(|_| step.agreement_events.is_empty()) {
            let leads = step.at == Some(term.leader);
            let who = if leads { "leads".into() } else { format!("{} leads", term.leader) };
            description.push(who + &crate::show::term_suffix(term));
        }
        description.join(", ")
    }

    /// Describes the diagram in one line: the algorithm, the number of processes, and the window
    /// unless it contains all records.
    pub fn caption(&self) -> String {
        let Header { algorithm, n, .. } = &self.header;
        let processes = if *n == 1 { "process" } else { "processes" };
        let mut caption = format!("{}, {n} {processes}", escape_invisible(algorithm));
        if let Some((first, last)) = self.shown_records
            && (first > 1 || self.is_cut_off)
        {
            caption += &format!(", events {first} to {last} of {}", self.record_count);
        }
        caption
    }
}

impl StepCause {
    /// Returns this cause, with escapes for the invisible characters in its text.
    pub(super) fn with_escaped_text(self) -> Self {
        let seen = |text: String| escape_invisible(&text).into_owned();
        match self {
            StepCause::OtherCause(text) => StepCause::OtherCause(seen(text)),
            StepCause::Network(text) => StepCause::Network(seen(text)),
            StepCause::Note(text) => StepCause::Note(seen(text)),
            other => other,
        }
    }
}

impl DiagramStep {
    /// Returns true if a process takes this step. Returns false if the step belongs to no process,
    /// and for losses and duplications of messages. A note that concerns a process counts as a step
    /// of the process.
    pub fn is_process_step(&self) -> bool {
        self.at.is_some() && !matches!(self.cause, StepCause::Loses(_) | StepCause::Duplicates(_))
    }
}

impl MessageArrow {
    /// Returns the label of the message's arrow: the name of the message and the requested fields.
    pub fn label(&self) -> String {
        if self.selected_fields.is_empty() {
            return self.message.to_string();
        }
        format!("{} {}", self.message, self.selected_fields)
    }
}
