use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tenure_core::{ProcessId, Verdict};

use crate::{Ask, Memory};

/// Something that is going to happen, other than the arrival of a protocol's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Act {
    /// A process crashes.
    Crash { fault: u32, process: ProcessId, recovery: Option<Back> },
    /// A process comes back.
    Recover { fault: u32, process: ProcessId, lost: bool },
    /// A partition begins.
    Cut { partition: u32 },
    /// A partition heals.
    Heal { partition: u32 },
    /// The detector is wrong, on purpose.
    Lie { fault: u32, observer: ProcessId, peer: ProcessId, suspect: bool },
    /// Crashes a process that is still inside or waiting, as a fault asked.
    Trap { fault: u32, process: ProcessId, inside: bool, count: u64 },
    /// A timer fires.
    Timer { slot: u32, generation: u32 },
    /// The detector tells a process of a peer.
    Tell { observer: ProcessId, peer: ProcessId, suspect: bool },
    /// A user has thought enough, or been inside long enough.
    User { process: ProcessId, ask: AskCode },
    /// A request arrives from outside.
    Arrival { process: ProcessId },
    /// A user hears of another's request.
    Chat { from: ProcessId, to: ProcessId, tag: u32 },
    /// A command of the script.
    Script { index: u32 },
}

/// How a crashed process comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Back {
    pub(crate) after: u64,
    pub(crate) lost: bool,
}

impl Back {
    pub(crate) fn of(recovery: crate::Recovery) -> Self {
        Back { after: recovery.after, lost: recovery.memory == Memory::Lost }
    }
}

/// What a user is about to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AskCode {
    Enter,
    Exit,
}

impl From<AskCode> for Ask {
    fn from(code: AskCode) -> Ask {
        match code {
            AskCode::Enter => Ask::Enter,
            AskCode::Exit => Ask::Exit,
        }
    }
}

pub(crate) fn verdict(suspect: bool) -> Verdict {
    if suspect { Verdict::Suspect } else { Verdict::Trust }
}

/// Everything to come but messages, by time; at equal times first in, first out.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    heap: BinaryHeap<Reverse<(u64, u64, Act)>>,
    sequence: u64,
}

impl Agenda {
    pub(crate) fn push(&mut self, time: u64, act: Act) {
        self.sequence += 1;
        self.heap.push(Reverse((time, self.sequence, act)));
    }

    /// When the next act is due; the largest number when there is none.
    #[inline]
    pub(crate) fn next_time(&self) -> u64 {
        self.heap.peek().map_or(u64::MAX, |Reverse((time, ..))| *time)
    }

    pub(crate) fn pop(&mut self) -> Option<(u64, Act)> {
        self.heap.pop().map(|Reverse((time, _, act))| (time, act))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}
