//! What processes that chase edges say to each other.

use tenure_core::{ProcessId, labelled};

/// One attempt of a process to enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Attempt {
    /// Whose.
    pub process: ProcessId,
    /// Which of its attempts.
    pub number: u64,
}

/// Who started a probe, and how many it had started: one for each of its edges, as in the paper.
pub type Initiator = (ProcessId, u64);

/// A victim so far: how often it has entered, and what it would give up. The largest is taken.
pub type Candidate = (u64, Attempt);

/// What processes say to each other. The lock meant is that of the manager who speaks or hears.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "I want your lock."
    Request {
        /// In which attempt of mine.
        number: u64,
        /// The largest count that I have seen.
        fence: u64,
    },
    /// "The lock is yours."
    Grant {
        /// Which attempt this answers.
        number: u64,
        /// How many grants there were, of this lock or any whose count its askers had seen.
        count: u64,
    },
    /// "You wait for this process": an edge of the wait-for graph.
    Wait {
        /// Which attempt waits.
        number: u64,
        /// Who holds the lock.
        holder: Attempt,
        /// The number of its grant.
        count: u64,
    },
    /// "I do not want your lock any longer."
    Release {
        /// Which attempt is over.
        number: u64,
        /// The largest count that I have seen.
        fence: u64,
    },
    /// "The initiator waits for you", from one who waits itself: `probe(i, j, k)`.
    Probe {
        /// Who started it.
        initiator: Initiator,
        /// Which attempt of the receiver is waited for.
        number: u64,
        /// Who shall give up, so far.
        victim: Candidate,
    },
    /// "You are the victim."
    Abort {
        /// Which attempt to give up.
        number: u64,
    },
}

labelled!(Message, Mutex, Request => "request", Grant => "grant", Wait => "wait",
    Release => "release", Probe => "probe", Abort => "abort");
