use tenure_core::service::mutex;
use tenure_core::{ProcessId, Verdict};

use crate::engine::queue::Queue;

/// A scheduled event, other than the arrival of a protocol message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScheduledEvent {
    /// A process crashes.
    Crash { fault: u32, process: ProcessId },
    /// A process recovers.
    Recover { fault: u32, process: ProcessId, lost: bool },
    /// A partition begins.
    PartitionBegins { fault: u32, partition: u32 },
    /// A partition heals.
    PartitionHeals { partition: u32 },
    /// The detector makes an injected mistake.
    FalseSuspicion { fault: u32, observer: ProcessId, peer: ProcessId, suspect: bool },
    /// A process crashes if it is still inside or waiting, as a fault requests.
    CrashInPhase { fault: u32, inside: bool, count: u32 },
    /// A timer fires.
    Timer { slot: u32, generation: u32 },
    /// The detector reports a peer to a process.
    DetectorReport { observer: ProcessId, peer: ProcessId, suspect: bool },
    /// A user has finished thinking or holding the lock.
    UserCommand { process: ProcessId, command: mutex::Command },
    /// A request arrives from outside.
    RequestArrival { process: ProcessId },
    /// A user message arrives.
    UserMessage { message: u32 },
    /// A scripted command.
    Script { index: u32 },
}

pub(crate) fn verdict(suspect: bool) -> Verdict {
    if suspect { Verdict::Suspect } else { Verdict::Trust }
}

/// Scheduled events by time; first in, first out at equal times.
pub(crate) type EventQueue = Queue<ScheduledEvent>;
