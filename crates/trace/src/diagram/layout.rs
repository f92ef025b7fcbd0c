//! Who did what where: all that a picture of a run needs to know, and nothing of how it is drawn.

use std::borrow::Cow;

use tenure_core::{Layer, ProcessId, Term};

use super::crime::Crime;
use super::view::View;
pub use crate::fold::standing::Hold;
use crate::format::{ClockUnit, Header};
use crate::plain::plain;

/// A run, laid out.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The head of the trace.
    pub header: Header,
    /// What was asked for.
    pub view: View,
    /// The steps, in the order of the trace.
    pub steps: Vec<Step>,
    /// The messages, in the order in which they were sent, or arrived from outside of the
    /// window.
    pub crossings: Vec<Crossing>,
    /// What lasted at a process.
    pub spans: Vec<Span>,
    /// While the network was split.
    pub regions: Vec<Region>,
    /// What went wrong.
    pub crimes: Vec<Crime>,
    /// How many records the trace has.
    pub records: u64,
    /// The numbers of the first and the last record that are shown.
    pub shown: Option<(u64, u64)>,
    /// Whether the window ends before the trace does.
    pub goes_on: bool,
    /// By column, from left to right: where it lies, in hundredths of the least distance of two
    /// steps of one process.
    pub along: Vec<u32>,
}

/// Something that happened at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Where; `None` for what happened to the whole network, or between processes.
    pub at: Option<ProcessId>,
    /// When, in ticks since the beginning of the trace.
    pub time: u64,
    /// The number of its first record in the trace.
    pub record: u64,
    /// What it began with.
    pub mark: Mark,
    /// In words, one line for each record.
    pub words: Vec<String>,
    /// Whom it was told of: the leader, and the term's number.
    pub leader: Option<Term>,
    /// Whether it entered.
    pub enters: bool,
    /// Whether it left.
    pub exits: bool,
    /// What it was told by a service of agreement: `decides 1`.
    pub agrees: Vec<String>,
    /// The message that arrived with it, as a place among the crossings.
    pub received: Option<usize>,
    /// Its number among the steps of the run, where it counts as one.
    pub number: Option<u64>,
    /// Its place on the scale: its time (0 on the causal scale), and among the steps of that
    /// time the length of the longest chain that ends with it.
    pub moment: (u64, u64),
    /// Its column.
    pub column: usize,
    /// Its clock, where one was asked for: Lamport's, or one count for each process.
    pub clock: Vec<u64>,
}

/// What a step began with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A message.
    Receives,
    /// Nothing that the trace names: the process acted by itself.
    Acts,
    /// Anything at a process, in a few words: a command, a timer, a suspicion.
    Says(String),
    /// The process crashed.
    Crashes,
    /// It came back.
    Recovers,
    /// A message was lost: its place among the crossings.
    Loses(usize),
    /// A message was duplicated.
    Duplicates(usize),
    /// The network changed.
    Network(String),
    /// A remark.
    Note(String),
}

/// A message on its way.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossing {
    /// Who sent it.
    pub from: ProcessId,
    /// Whom it is for.
    pub to: ProcessId,
    /// What it is called.
    pub message: Cow<'static, str>,
    /// Which layer it serves.
    pub layer: Layer,
    /// Its place among the kinds of messages of the run, which are counted from 0 as they are
    /// first sent, in the window or before it.
    pub kind: usize,
    /// What it says, as far as it was asked for.
    pub says: String,
    /// The step that sent it, unless that lies before the window.
    pub sent: Option<usize>,
    /// The step at which it arrived or was lost.
    pub ended: Option<usize>,
    /// What became of it.
    pub fate: Fate,
    /// Whether it carries a token.
    pub token: bool,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrived.
    Arrives,
    /// It was lost.
    Lost,
    /// Neither, as far as the window shows.
    UnderWay,
}

/// What lasted at a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// At which.
    pub at: ProcessId,
    /// What.
    pub hold: Hold,
    /// The step with which it began, unless that lies before the window.
    pub from: Option<usize>,
    /// The step with which it ended, if it did.
    pub until: Option<usize>,
}

/// While the network was split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// The step with which it began, unless that lies before the window.
    pub from: Option<usize>,
    /// The step with which it ended, if it did.
    pub until: Option<usize>,
    /// Within which messages passed.
    pub sides: Vec<Vec<ProcessId>>,
}

impl Layout {
    /// How many processes there are.
    pub fn size(&self) -> usize {
        self.header.n as usize
    }

    /// Where a step lies on the axis, in hundredths of the least distance of two steps of one
    /// process.
    pub fn place(&self, step: usize) -> u32 {
        self.along.get(self.steps[step].column).copied().unwrap_or(0)
    }

    /// Where the axis ends.
    pub fn end(&self) -> u32 {
        self.along.last().copied().unwrap_or(0)
    }

    /// The time of a step as people read it: units, or milliseconds of real time.
    pub fn time(&self, step: usize) -> String {
        crate::show::units(self.steps[step].time)
    }

    /// The unit of times.
    pub fn unit(&self) -> &'static str {
        unit_of(&self.header)
    }

    /// The clock of a step as people read it: `3`, or `[1,0,2]`; empty without one.
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

    /// What a step is called, and what its user was told.
    pub(crate) fn says(&self, step: &Step) -> String {
        let mut says: Vec<String> = Vec::new();
        match &step.mark {
            Mark::Says(text) | Mark::Note(text) => says.push(text.clone()),
            Mark::Crashes => says.push("crashes".to_owned()),
            Mark::Recovers => says.push("recovers".to_owned()),
            _ => {}
        }
        if step.enters {
            says.push("enters".to_owned());
        }
        if step.exits && !says.iter().any(|said| said == "exits") {
            says.push("exits".to_owned());
        }
        says.extend(step.agrees.iter().cloned());
        // Who keeps a log was told so in words of its own.
        if let Some(term) = step.leader.filter(|_| step.agrees.is_empty()) {
            let leads = step.at == Some(term.leader);
            let who = if leads { "leads".into() } else { format!("{} leads", term.leader) };
            says.push(who + &crate::show::in_term(term));
        }
        says.join(", ")
    }

    /// What is shown, in a sentence.
    pub fn caption(&self) -> String {
        let Header { algorithm, n, .. } = &self.header;
        let processes = if *n == 1 { "process" } else { "processes" };
        let mut caption = format!("{}, {n} {processes}", plain(algorithm));
        if let Some((first, last)) = self.shown
            && (first > 1 || self.goes_on)
        {
            caption += &format!(", events {first} to {last} of {}", self.records);
        }
        caption
    }
}

/// The unit in which times of a trace are written for people.
pub(super) fn unit_of(header: &Header) -> &'static str {
    match header.clock {
        ClockUnit::Tick => "units",
        ClockUnit::Nanosecond => "ms",
    }
}

impl Mark {
    /// The same, with nothing in its words that is not plainly seen.
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
    /// Whether it is an event of its process, and not one of the network.
    pub fn is_own(&self) -> bool {
        self.at.is_some() && !matches!(self.mark, Mark::Loses(_) | Mark::Duplicates(_))
    }
}

impl Crossing {
    /// What is written at the arrow.
    pub fn label(&self) -> String {
        if self.says.is_empty() {
            return self.message.to_string();
        }
        format!("{} {}", self.message, self.says)
    }
}
