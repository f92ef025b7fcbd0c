//! Messages of Raft's election.

use tenure_core::labelled;

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Asks whether the receiver would vote for the sender in a new term.
    RequestPreVote {
        /// The term that the sender would start.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
    },
    /// Response to a pre-vote request; not binding.
    PreVote {
        /// The requested term if the sender grants the pre-vote, otherwise the sender's current
        /// term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// True if the sender would vote for the receiver.
        granted: bool,
    },
    /// Requests a vote.
    RequestVote {
        /// Term of the candidate.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
    },
    /// Response to a vote request.
    Vote {
        /// Term of the sender.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// True if the sender has voted for the receiver in this term.
        granted: bool,
    },
    /// A heartbeat: an `AppendEntries` without entries.
    Heartbeat {
        /// Term of the sender.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// Number of the heartbeat. It distinguishes this heartbeat from earlier heartbeats of the
        /// term.
        round: u64,
    },
    /// Response to a heartbeat. The sender votes for no other process before its election timeout.
    Heard {
        /// Term of the heartbeat to which this message responds.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// Number of the heartbeat to which this message responds.
        round: u64,
    },
    /// Response to a heartbeat of an old term, so that the old leader learns of the newer term.
    Overtaken {
        /// Current term of the sender.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
    },
    /// The leader of this term has resigned, and nominates the receiver. If the receiver is still
    /// in this term, it starts an election immediately.
    HandOver {
        /// Term in which the sender led.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
    },
    /// Requests a vote after a handover by the leader of the previous term.
    Succeed {
        /// Term of the candidate.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
    },
}

labelled!(
    Message, Election,
    RequestPreVote => "request-pre-vote", PreVote => "pre-vote",
    RequestVote => "request-vote", Vote => "vote",
    Heartbeat => "heartbeat", Heard => "heard", Overtaken => "overtaken",
    HandOver => "hand-over", Succeed => "succeed",
);
