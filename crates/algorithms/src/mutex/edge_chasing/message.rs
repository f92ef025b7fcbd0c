//! Messages of the edge-chasing algorithm.

use tenure_core::{ProcessId, labelled};

/// One attempt of a process to enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Attempt {
    /// The process that makes the attempt.
    pub process: ProcessId,
    /// Number of the attempt.
    pub number: u64,
}

/// Initiator of a probe: the process, and the number of probes it had started before, including
/// this one. As in the paper, a process starts one probe for each of its edges.
pub type Initiator = (ProcessId, u64);

/// Candidate victim: its number of entries, and the attempt that it would abandon. The largest is
/// chosen.
pub type Candidate = (u64, Attempt);

/// Messages between processes. The lock is that of the manager that sends or receives.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Requests the receiver's lock.
    Request {
        /// Number of the sender's attempt.
        number: u64,
        /// Largest count that the sender has seen.
        fence: u64,
    },
    /// Grants the lock.
    Grant {
        /// The attempt that is granted.
        number: u64,
        /// Number of the grant, above all counts that its requesters have seen.
        count: u64,
    },
    /// Informs a waiter of the holder: an edge of the wait-for graph.
    Wait {
        /// The waiting attempt.
        number: u64,
        /// Attempt that holds the lock.
        holder: Attempt,
        /// Number of its grant.
        count: u64,
    },
    /// Releases the lock, or withdraws the request.
    Release {
        /// The attempt that ended.
        number: u64,
        /// Largest count that the sender has seen.
        fence: u64,
    },
    /// `probe(i, j, k)`: the initiator waits, directly or indirectly, for the receiver.
    Probe {
        /// Initiator of the probe.
        initiator: Initiator,
        /// The receiver's attempt that is waited for.
        number: u64,
        /// The victim so far.
        victim: Candidate,
    },
    /// The receiver is the victim of a cycle.
    Abort {
        /// The attempt to abandon.
        number: u64,
    },
}

labelled!(Message, Mutex, Request => "request", Grant => "grant", Wait => "wait",
    Release => "release", Probe => "probe", Abort => "abort");
