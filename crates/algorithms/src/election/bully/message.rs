//! Messages of the bully election.

use tenure_core::labelled;

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Starts an election; sent to higher processes.
    Election {
        /// Lower bound on the number of the new term. It is 0 if the sender has restarted and knows
        /// no term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        number: u64,
    },
    /// States that the sender is alive and takes over the election, or that it knows of later
    /// elections.
    Answer {
        /// Highest number of a term that the sender knows.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        number: u64,
    },
    /// Announces the sender as the leader.
    Coordinator {
        /// Number of the sender's term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        number: u64,
    },
    /// The sender resigns and nominates the receiver.
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
