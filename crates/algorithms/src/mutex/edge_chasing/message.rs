//! Messages of the edge-chasing algorithm.

use tenure_core::{ProcessId, labelled};

/// One attempt of a process to enter the critical section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Attempt {
    /// The process that makes the attempt.
    pub process: ProcessId,
    /// Number of the attempt, from 1 at each process.
    pub number: u64,
}

/// Initiator of a probe: the process, and the sequence number of its probe, from 1. As in the
/// paper, a process starts one probe for each of its edges.
pub type ProbeId = (ProcessId, u64);

/// Candidate for the victim of a cycle: the number of times that the process has entered the
/// critical section, and the attempt that it would abandon. The largest candidate becomes the
/// victim.
pub type VictimCandidate = (u64, Attempt);

/// Messages between processes. If a manager sends or receives a message, the message concerns the
/// lock of this manager.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Requests the receiver's lock.
    Request {
        /// Number of the sender's attempt.
        number: u64,
        /// Largest grant number that the sender has seen.
        fence: u64,
    },
    /// Grants the lock.
    Grant {
        /// Number of the receiver's attempt to which the lock is granted.
        number: u64,
        /// Number of the grant. It is greater than the `fence` in every request and release that
        /// the manager has received, except with the variant `counts-alone`.
        count: u64,
    },
    /// Informs a waiting process of the holder of the lock: an edge of the wait-for graph.
    Wait {
        /// Number of the receiver's attempt, which waits for the lock.
        number: u64,
        /// Attempt that holds the lock.
        holder: Attempt,
        /// Number of the grant that gave the lock to `holder`.
        count: u64,
    },
    /// Releases the lock, or withdraws the request.
    Release {
        /// Number of the sender's attempt that has ended.
        number: u64,
        /// Largest grant number that the sender has seen.
        fence: u64,
    },
    /// `probe(i, j, k)`: the initiator *i* waits for the receiver *k*, directly or through other
    /// processes.
    Probe {
        /// Initiator of the probe.
        initiator: ProbeId,
        /// Number of an attempt of the receiver. The sender waits until this attempt ends.
        number: u64,
        /// Largest [`VictimCandidate`] among the attempts on the path of the probe so far. If the
        /// probe finds a cycle, the attempt of this candidate is aborted.
        victim: VictimCandidate,
    },
    /// Tells the receiver to abandon its attempt to enter. The receiver is the victim that was
    /// chosen to end a deadlock.
    Abort {
        /// Number of the attempt to abandon.
        number: u64,
    },
}

labelled!(Message, Mutex, Request => "request", Grant => "grant", Wait => "wait",
    Release => "release", Probe => "probe", Abort => "abort");
