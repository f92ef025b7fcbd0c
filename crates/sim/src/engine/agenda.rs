use tenure_core::service::mutex;
use tenure_core::{ProcessId, Verdict};

use crate::engine::queue::Queue;

/// Something that is going to happen, other than the arrival of a protocol's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// A process crashes.
    Crash { fault: u32, process: ProcessId },
    /// A process comes back.
    Recover { fault: u32, process: ProcessId, lost: bool },
    /// A partition begins.
    Cut { fault: u32, partition: u32 },
    /// A partition heals.
    Heal { partition: u32 },
    /// The detector is wrong, on purpose.
    Lie { fault: u32, observer: ProcessId, peer: ProcessId, suspect: bool },
    /// Crashes a process that is still inside or waiting, as a fault asked.
    Trap { fault: u32, inside: bool, count: u32 },
    /// A timer fires.
    Timer { slot: u32, generation: u32 },
    /// The detector tells a process of a peer.
    Tell { observer: ProcessId, peer: ProcessId, suspect: bool },
    /// A user has thought enough, or been inside long enough.
    User { process: ProcessId, ask: mutex::Command },
    /// A request arrives from outside.
    Arrival { process: ProcessId },
    /// A user hears of another's request.
    Chat { chat: u32 },
    /// A command of the script.
    Script { index: u32 },
}

pub(crate) fn verdict(suspect: bool) -> Verdict {
    if suspect { Verdict::Suspect } else { Verdict::Trust }
}

/// Everything to come but messages, by time; at equal times first in, first out.
pub(crate) type Agenda = Queue<Act>;
