//! What processes of Raft's election say to each other.

use tenure_core::labelled;

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "Would you vote for me in this term?"
    RequestPreVote {
        /// The term that the sender would begin.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
    },
    /// The answer to that, which binds nobody.
    PreVote {
        /// The term that was asked about if granted, else the sender's.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// Whether the sender would.
        granted: bool,
    },
    /// "Vote for me."
    RequestVote {
        /// The term in which the sender stands.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
    },
    /// The answer to that.
    Vote {
        /// The sender's term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// Whether this is a vote.
        granted: bool,
    },
    /// "I lead in this term." An `AppendEntries` with no entries.
    Heartbeat {
        /// The sender's term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// Which heartbeat it is.
        round: u64,
    },
    /// "I have heard you, and vote for nobody else for a while."
    Heard {
        /// The term of the heartbeat.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
        /// Which heartbeat it was.
        round: u64,
    },
    /// "Your term is over."
    Overtaken {
        /// The sender's term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
    },
    /// "I led in this term, and lead no more: stand at once."
    HandOver {
        /// The term that the sender led in.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        term: u64,
    },
    /// "Vote for me: the leader of the term before this one has handed over to me."
    Succeed {
        /// The term in which the sender stands.
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
