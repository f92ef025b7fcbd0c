//! Events of a run other than messages of the protocol, and their queue.

use tenure_core::service::mutex;
use tenure_core::{ProcessId, Verdict};

use crate::engine::queue::TimedQueue;

/// An event at a certain time of a run, other than the arrival of a protocol message. The arrivals
/// of protocol messages are in a separate queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScheduledEvent {
    /// A process crashes.
    Crash { fault: u32, process: ProcessId },
    /// A process recovers. If `lost` is true, the process has lost its stable state.
    Recover { fault: u32, process: ProcessId, lost: bool },
    /// A process recovers automatically from its crash in the session `session`. If the process has
    /// recovered from this crash already, the event has no effect. If `lost` is true, the process
    /// has lost its stable state.
    RecoverFromCrash { process: ProcessId, session: u32, lost: bool },
    /// A partition begins.
    PartitionBegins { fault: u32, partition: u32 },
    /// A partition ends.
    PartitionHeals { partition: u32 },
    /// A false suspicion, which is a configured fault, begins or ends.
    FalseSuspicion { fault: u32, observer: ProcessId, peer: ProcessId, suspect: bool },
    /// The fault with the index `fault` crashes a process. If `inside` is true, the process must be
    /// inside the critical section in its entry number `count`. Otherwise, the process must be
    /// waiting with its request number `count`. If the process is no longer in this phase, the
    /// process does not crash.
    CrashInPhase { fault: u32, inside: bool, count: u32 },
    /// A timer fires.
    Timer { slot: u32, generation: u32 },
    /// The failure detector tells `observer` whether it suspects or trusts `peer`.
    DetectorReport { observer: ProcessId, peer: ProcessId, suspect: bool },
    /// A user of the lock issues its next command: a request to enter or to exit the critical
    /// section.
    UserCommand { process: ProcessId, command: mutex::Command },
    /// A user of an agreement service ends its use of a resource, a bottle or a forum.
    EndOfUse { process: ProcessId },
    /// A request of the open arrival pattern arrives at a process.
    RequestArrival { process: ProcessId },
    /// A message between users arrives.
    UserMessage { message: u32 },
    /// A user issues a command that was scheduled by the caller.
    Script { index: u32 },
}

pub(crate) fn suspicion_verdict(is_suspected: bool) -> Verdict {
    if is_suspected { Verdict::Suspect } else { Verdict::Trust }
}

/// Scheduled events by time. Events with equal times keep the order in which they were scheduled.
pub(crate) type EventQueue = TimedQueue<ScheduledEvent>;
