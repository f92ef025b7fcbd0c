//! Events of a run other than messages of the protocol, and their queue.

use tenure_core::service::mutex;
use tenure_core::{PeerVerdict, ProcessId};

use crate::engine::queue::TimedQueue;

/// An event at a certain time of a run, other than the arrival of a protocol message. The arrivals
/// of protocol messages are in a separate queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScheduledEvent {
    /// A process crashes. `fault` is the index of the crash among all configured faults.
    Crash { fault: u32, process: ProcessId },
    /// A process recovers. `fault` is the index of the recovery among all configured faults. If
    /// `lost` is true, the process has lost its stable state. If the process is up, the event has
    /// no effect.
    Recover { fault: u32, process: ProcessId, lost: bool },
    /// A process recovers automatically from its crash in the session `session`. If the process has
    /// recovered from this crash already, the event has no effect. If `lost` is true, the process
    /// has lost its stable state.
    RecoverFromCrash { process: ProcessId, session: u32, lost: bool },
    /// A configured partition begins. `fault` is its index among all configured faults. `partition`
    /// is its index among the configured partitions.
    PartitionBegins { fault: u32, partition: u32 },
    /// A partition ends. `partition` is its index among the configured partitions.
    PartitionHeals { partition: u32 },
    /// A configured false suspicion begins if `suspect` is true, and ends otherwise. `fault` is its
    /// index among all configured faults. If the observer or the peer is down, the event has no
    /// effect.
    FalseSuspicion { fault: u32, observer: ProcessId, peer: ProcessId, suspect: bool },
    /// A configured crash of a process in a certain phase is due. `fault` is its index among all
    /// configured faults. If `inside` is true, the process must be inside the critical section in
    /// its entry number `count`. Otherwise, the process must be waiting with its request number
    /// `count`. If the process is no longer in this phase, the process does not crash.
    CrashInPhase { fault: u32, inside: bool, count: u32 },
    /// The timer in the slot `slot` fires. If the slot has another generation by then, the timer
    /// was disarmed or replaced, and the event has no effect.
    Timer { slot: u32, generation: u32 },
    /// A report of the failure detector arrives at `observer`. If `suspect` is true, the report is
    /// that `peer` is suspected, and otherwise that it is trusted.
    DetectorReport { observer: ProcessId, peer: ProcessId, suspect: bool },
    /// The user of the lock at `process` issues its next command: a request to enter or to exit the
    /// critical section.
    UserCommand { process: ProcessId, command: mutex::Command },
    /// The user of an agreement service at `process` ends its use of a resource, a bottle or a
    /// forum.
    EndOfUse { process: ProcessId },
    /// A request of the open arrival pattern arrives at a process.
    RequestArrival { process: ProcessId },
    /// A message between users arrives. `message` is its index in
    /// [`UserTraffic`](crate::engine::user_messages::UserTraffic).
    UserMessage { message: u32 },
    /// A user issues the command with the index `index` among those that the caller has scheduled.
    Script { index: u32 },
}

pub(crate) fn suspicion_verdict(is_suspected: bool) -> PeerVerdict {
    if is_suspected { PeerVerdict::Suspect } else { PeerVerdict::Trust }
}

/// Scheduled events by time. Events with equal times keep the order in which they were scheduled.
pub(crate) type EventQueue = TimedQueue<ScheduledEvent>;
