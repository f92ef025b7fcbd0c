//! What processes of the bully election say to each other.

use tenure_core::labelled;

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "We need a leader: is anybody above me alive?"
    Election {
        /// The number that the new term shall have at least; 0 from a sender that does not know,
        /// because it has just come back.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        number: u64,
    },
    /// "I am alive and will see to it", or: "there have been later elections than yours".
    Answer {
        /// The highest number that the sender knows.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        number: u64,
    },
    /// "I am the leader."
    Coordinator {
        /// The number of my term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        number: u64,
    },
    /// "I lead no more: you are the next."
    Nominate {
        /// The number of my term.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        number: u64,
    },
}

labelled!(
    Message, Election,
    Election => "election", Answer => "answer", Coordinator => "coordinator",
    Nominate => "nominate",
);
