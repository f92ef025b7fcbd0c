//! Messages of the bully election.

use tenure_core::labelled;

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Starts an election; sent to higher processes.
    Election {
        /// Lower bound on the number of the new term. 0 if the sender starts an election because it
        /// has restarted. A receiver never regards an election with number 0 as an old one that has
        /// ended.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        number: u64,
    },
    /// In answer to an election message: the sender is alive and takes over the election. In answer
    /// to an announcement: the sender has accepted a later term.
    Answer {
        /// In answer to an election message, the highest term number that the sender knows. In
        /// answer to an announcement, the number of the term that the sender has accepted.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        number: u64,
    },
    /// Announces the sender as the leader.
    Coordinator {
        /// Number of the sender's term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        number: u64,
    },
    /// The sender resigns as the leader and nominates the receiver as its successor.
    Nominate {
        /// Number of the sender's term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        number: u64,
    },
}

labelled!(
    Message, Election,
    Election => "election", Answer => "answer", Coordinator => "coordinator",
    Nominate => "nominate",
);
