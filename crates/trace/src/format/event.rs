//! One line of a trace.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::Value;
use tenure_core::{ProcessId, VectorClock, Verdict};

use crate::format::access::Access;
use crate::format::numbered;
use crate::format::passage::Passage;
use crate::format::service::{Asked, Told};
use crate::format::who::Who;

/// Something that happened: one line of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// When, in the unit that the header names.
    pub time: u64,
    /// To whom.
    pub process: Who,
    /// In which session of the process: what tells one boot from the next.
    pub session: u64,
    /// Its place in the file, from 1. The [`Writer`](crate::Writer) numbers.
    pub sequence: u64,
    /// What.
    pub kind: Kind,
    /// The harness's vector clock of this moment, where it keeps one.
    pub clock: Option<VectorClock>,
}

impl Record {
    /// A record of the first session without a clock, not yet numbered.
    pub fn new(time: u64, process: impl Into<Who>, kind: Kind) -> Self {
        Record { time, process: process.into(), session: 0, sequence: 0, kind, clock: None }
    }

    /// The same in another session.
    #[must_use]
    pub fn in_session(mut self, session: u64) -> Self {
        self.session = session;
        self
    }

    /// The same with a vector clock.
    #[must_use]
    pub fn with_clock(mut self, clock: VectorClock) -> Self {
        self.clock = Some(clock);
        self
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// The process booted; for the second time, when it had crashed.
    Boot,
    /// The local user asked.
    Command(Asked),
    /// The local user was told.
    Event(Told),
    /// The process sent a message.
    Send(Passage),
    /// The process received a message.
    Receive(Passage),
    /// A message that the process sent was lost.
    Drop(Passage),
    /// A message that the process sent was duplicated.
    Duplicate(Passage),
    /// A timer of this name fired.
    Timer(String),
    /// A failure detector spoke.
    Suspicion {
        /// Of whom.
        peer: ProcessId,
        /// What it says now.
        verdict: Verdict,
    },
    /// The process drew a number in the step that it began last.
    Choice(Choice),
    /// The process will crash: what it does from here on is saved, and nobody hears of it.
    Mute,
    /// The process is about to crash, and has not saved what the step changed that it began last,
    /// though all else came of that.
    Unsaved,
    /// The process crashed or was killed.
    Crash,
    /// The process came back with what it had saved.
    Recover,
    /// The process was suspended (SIGSTOP).
    Stop,
    /// The process was resumed (SIGCONT).
    Continue,
    /// From now on, messages pass only within these sides.
    Partition(Vec<Vec<ProcessId>>),
    /// From now on, messages pass between all.
    Heal,
    /// The resource was accessed.
    Access(Access),
    /// A remark for people.
    Note(String),
    /// What the process holds from now on, as a [tree](crate::state::tree). For people: nothing
    /// is judged by it.
    State(Value),
    /// Of a process: it left in good order. Of the parent: the run is over, and what holds now
    /// is what holds in the end.
    End,
    /// A kind that this version does not know, kept as it was.
    Other {
        /// Its name.
        kind: String,
        /// Its data.
        data: Option<Value>,
    },
}

impl Kind {
    /// The names of all kinds that this program writes.
    pub const NAMES: &[&str] = &[
        "boot",
        "command",
        "event",
        "send",
        "receive",
        "drop",
        "duplicate",
        "timer",
        "suspicion",
        "choice",
        "mute",
        "unsaved",
        "crash",
        "recover",
        "stop",
        "continue",
        "partition",
        "heal",
        "access",
        "note",
        "state",
        "end",
    ];

    /// The name in the trace.
    pub fn name(&self) -> &str {
        match self {
            Kind::Boot => "boot",
            Kind::Command(_) => "command",
            Kind::Event(_) => "event",
            Kind::Send(_) => "send",
            Kind::Receive(_) => "receive",
            Kind::Drop(_) => "drop",
            Kind::Duplicate(_) => "duplicate",
            Kind::Timer(_) => "timer",
            Kind::Suspicion { .. } => "suspicion",
            Kind::Choice(_) => "choice",
            Kind::Mute => "mute",
            Kind::Unsaved => "unsaved",
            Kind::Crash => "crash",
            Kind::Recover => "recover",
            Kind::Stop => "stop",
            Kind::Continue => "continue",
            Kind::Partition(_) => "partition",
            Kind::Heal => "heal",
            Kind::Access(_) => "access",
            Kind::Note(_) => "note",
            Kind::State(_) => "state",
            Kind::End => "end",
            Kind::Other { kind, .. } => kind,
        }
    }

    /// The message, of the four kinds that are about one.
    pub fn passage(&self) -> Option<&Passage> {
        match self {
            Kind::Send(passage)
            | Kind::Receive(passage)
            | Kind::Drop(passage)
            | Kind::Duplicate(passage) => Some(passage),
            _ => None,
        }
    }
}

/// A number that a process drew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct Choice {
    /// Which, from 0.
    pub value: u32,
    /// What it is less than.
    pub bound: u32,
}

/// The data of a suspicion.
#[derive(Serialize, serde::Deserialize)]
pub(crate) struct Suspected {
    #[serde(with = "numbered")]
    pub(crate) peer: ProcessId,
    pub(crate) verdict: Verdict,
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut line = to.serialize_struct("Record", 7)?;
        line.serialize_field("time", &self.time)?;
        line.serialize_field("process", &self.process)?;
        if self.session != 0 {
            line.serialize_field("session", &self.session)?;
        }
        line.serialize_field("sequence", &self.sequence)?;
        line.serialize_field("kind", self.kind.name())?;
        match &self.kind {
            Kind::Command(asked) => line.serialize_field("data", asked)?,
            Kind::Event(told) => line.serialize_field("data", told)?,
            Kind::Send(passage)
            | Kind::Receive(passage)
            | Kind::Drop(passage)
            | Kind::Duplicate(passage) => line.serialize_field("data", passage)?,
            Kind::Timer(text) | Kind::Note(text) => line.serialize_field("data", text)?,
            Kind::Suspicion { peer, verdict } => {
                let suspected = Suspected { peer: *peer, verdict: *verdict };
                line.serialize_field("data", &suspected)?;
            }
            Kind::Choice(choice) => line.serialize_field("data", choice)?,
            Kind::Partition(sides) => line.serialize_field("data", &numbers(sides))?,
            Kind::Access(access) => line.serialize_field("data", access)?,
            Kind::State(data) | Kind::Other { data: Some(data), .. } => {
                line.serialize_field("data", data)?;
            }
            _ => {}
        }
        if let Some(clock) = &self.clock {
            line.serialize_field("clock", clock)?;
        }
        line.end()
    }
}

fn numbers(sides: &[Vec<ProcessId>]) -> Vec<Vec<u32>> {
    sides.iter().map(|side| side.iter().map(|process| process.number()).collect()).collect()
}
