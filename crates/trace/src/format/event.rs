//! Records: the lines of a trace.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::Value;
use tenure_core::{PeerVerdict, ProcessId, VectorClock};

use crate::format::access::ResourceAccessRecord;
use crate::format::memory_access::MemoryAccess;
use crate::format::message_record::MessageRecord;
use crate::format::process_number;
use crate::format::service::{RecordedCommand, RecordedEvent};
use crate::format::subject::RecordSubject;

/// One event of an execution. Each record is one line of a trace, after the header.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Time of the event, in the unit that the header states.
    pub time: u64,
    /// Subject of the event: a process, the resource that the lock protects, or the parent program
    /// that starts the nodes.
    pub process: RecordSubject,
    /// Session of the process, which distinguishes its starts. 0 if the writer does not count
    /// sessions, and for other subjects.
    pub session: u64,
    /// Number of the record in its file, from 1. The [`Writer`](crate::Writer) assigns the number.
    /// 0 if the record has no number.
    pub sequence: u64,
    /// Kind of the event, with its data.
    pub kind: RecordKind,
    /// Vector clock of the process at the event. `None` if the program that runs the processes
    /// keeps no vector clocks.
    pub clock: Option<VectorClock>,
}

impl Record {
    /// Creates a record with the session 0. The record has neither a vector clock nor a sequence
    /// number.
    pub fn new(time: u64, process: impl Into<RecordSubject>, kind: RecordKind) -> Self {
        Record { time, process: process.into(), session: 0, sequence: 0, kind, clock: None }
    }

    /// Sets the session of the process.
    #[must_use]
    pub fn in_session(mut self, session: u64) -> Self {
        self.session = session;
        self
    }

    /// Sets the vector clock of the event.
    #[must_use]
    pub fn with_clock(mut self, clock: VectorClock) -> Self {
        self.clock = Some(clock);
        self
    }
}

/// Kind of a record, with the data of this kind.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordKind {
    /// The process booted. If it had booted before in another session, it had crashed or ended in
    /// between.
    Boot,
    /// The local user issued a command.
    Command(RecordedCommand),
    /// The process emitted an event for its local user.
    Event(RecordedEvent),
    /// The process sent a message.
    Send(MessageRecord),
    /// The process received a message.
    Receive(MessageRecord),
    /// A message that this process sent was lost.
    Drop(MessageRecord),
    /// A message that this process sent was duplicated.
    Duplicate(MessageRecord),
    /// A timer with this name fired.
    Timer(String),
    /// The failure detector of the process changed its verdict on a peer.
    Suspicion {
        /// Peer that the verdict concerns.
        peer: ProcessId,
        /// New verdict: the peer is suspected or trusted from now on.
        verdict: PeerVerdict,
    },
    /// The process drew a random number in its last step.
    Choice(RandomChoice),
    /// The process became mute. From now on it sends no messages, emits no events and sets no
    /// timers, and saves its state as [`MuteState`](crate::MuteState) describes. It must crash
    /// later.
    Mute,
    /// The process will crash before it saves its last step. It has nevertheless sent the messages
    /// of this step and emitted its events.
    Unsaved,
    /// The process crashed or was killed.
    Crash,
    /// The process recovered with its saved state.
    Recover,
    /// The process was suspended (SIGSTOP).
    Stop,
    /// The process was resumed (SIGCONT).
    Continue,
    /// The network was partitioned into these groups of processes. From now on, messages pass only
    /// within a group. A process in no group is separated from all others.
    Partition(Vec<Vec<ProcessId>>),
    /// The partition ended: from now on, messages pass between any two processes.
    Heal,
    /// A process accessed the resource that the lock protects. The resource wrote the record.
    Access(ResourceAccessRecord),
    /// The process accessed a register of the shared memory.
    Memory(MemoryAccess),
    /// A remark for human readers.
    Note(String),
    /// State of the process from now on, as a [tree](crate::state::debug_tree). The monitors ignore
    /// this record. Properties that users write as expressions read it, and pages display it. The
    /// tree is null if the reader of the trace skips states.
    State(Value),
    /// The process ended normally. If the subject is the parent, the program that runs the
    /// experiment, then the run is over. Later records only show that the nodes stop.
    End,
    /// A record of a kind that this version does not know. A reader keeps the record, and does not
    /// judge it.
    Other {
        /// Name of the kind.
        kind: String,
        /// Data of the record, as the trace contains it. `None` if the record has no data.
        data: Option<Value>,
    },
}

impl RecordKind {
    /// Names of all record kinds that this version writes.
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
        "memory",
        "note",
        "state",
        "end",
    ];

    /// Returns the name of the kind in the trace.
    pub fn name(&self) -> &str {
        match self {
            RecordKind::Boot => "boot",
            RecordKind::Command(_) => "command",
            RecordKind::Event(_) => "event",
            RecordKind::Send(_) => "send",
            RecordKind::Receive(_) => "receive",
            RecordKind::Drop(_) => "drop",
            RecordKind::Duplicate(_) => "duplicate",
            RecordKind::Timer(_) => "timer",
            RecordKind::Suspicion { .. } => "suspicion",
            RecordKind::Choice(_) => "choice",
            RecordKind::Mute => "mute",
            RecordKind::Unsaved => "unsaved",
            RecordKind::Crash => "crash",
            RecordKind::Recover => "recover",
            RecordKind::Stop => "stop",
            RecordKind::Continue => "continue",
            RecordKind::Partition(_) => "partition",
            RecordKind::Heal => "heal",
            RecordKind::Access(_) => "access",
            RecordKind::Memory(_) => "memory",
            RecordKind::Note(_) => "note",
            RecordKind::State(_) => "state",
            RecordKind::End => "end",
            RecordKind::Other { kind, .. } => kind,
        }
    }

    /// Returns the data of the message that was sent, received, lost or duplicated in this record.
    /// Returns `None` for all other records.
    pub fn message_record(&self) -> Option<&MessageRecord> {
        match self {
            RecordKind::Send(message_record)
            | RecordKind::Receive(message_record)
            | RecordKind::Drop(message_record)
            | RecordKind::Duplicate(message_record) => Some(message_record),
            _ => None,
        }
    }
}

/// Random number that a process drew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct RandomChoice {
    /// The random number, from 0 to `bound` − 1.
    pub value: u32,
    /// Exclusive upper bound of the random number.
    pub bound: u32,
}

#[derive(Serialize, serde::Deserialize)]
pub(crate) struct SuspicionData {
    #[serde(with = "process_number")]
    pub(crate) peer: ProcessId,
    pub(crate) verdict: PeerVerdict,
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
            RecordKind::Command(command) => line.serialize_field("data", command)?,
            RecordKind::Event(event) => line.serialize_field("data", event)?,
            RecordKind::Send(message_record)
            | RecordKind::Receive(message_record)
            | RecordKind::Drop(message_record)
            | RecordKind::Duplicate(message_record) => {
                line.serialize_field("data", message_record)?
            }
            RecordKind::Timer(text) | RecordKind::Note(text) => {
                line.serialize_field("data", text)?
            }
            RecordKind::Suspicion { peer, verdict } => {
                let suspected = SuspicionData { peer: *peer, verdict: *verdict };
                line.serialize_field("data", &suspected)?;
            }
            RecordKind::Choice(choice) => line.serialize_field("data", choice)?,
            RecordKind::Partition(sides) => line.serialize_field("data", &numbers(sides))?,
            RecordKind::Access(access) => line.serialize_field("data", access)?,
            RecordKind::Memory(access) => line.serialize_field("data", access)?,
            RecordKind::State(data) | RecordKind::Other { data: Some(data), .. } => {
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
    sides.iter().map(|side| side.iter().map(|process| process.display_number()).collect()).collect()
}
