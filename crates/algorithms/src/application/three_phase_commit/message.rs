//! What processes of three-phase commit say to each other.

use tenure_core::service::commit::Transaction;
use tenure_core::{Term, labelled};

use super::Log;

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "Can you?"
    Prepare {
        /// What is to be done.
        transaction: Transaction,
    },
    /// "Yes, and I will if you say so", or "no".
    Vote {
        /// In which transaction.
        transaction: Transaction,
        /// Whether it is a yes.
        yes: bool,
    },
    /// "All can."
    Ready {
        /// The term in which the sender leads.
        term: Term,
        /// What all can do.
        transaction: Transaction,
    },
    /// "I know that all can."
    Told {
        /// The term in which it was said.
        term: Term,
        /// What all can do.
        transaction: Transaction,
    },
    /// "This is decided."
    Decision {
        /// What.
        transaction: Transaction,
        /// Whether it commits.
        commits: bool,
    },
    /// "I know."
    Acknowledgement {
        /// What was decided.
        transaction: Transaction,
    },
    /// "I lead now: what do you know of transactions?"
    Inquire {
        /// The term that begins.
        term: Term,
    },
    /// "This, and I listen to no older term."
    Report {
        /// The term in which it was asked.
        term: Term,
        /// What the sender knows.
        log: Log,
    },
    /// "There is a newer term than yours."
    Newer {
        /// The newest that the sender knows.
        term: Term,
    },
}

labelled!(
    Message, Agreement,
    Prepare => "prepare", Vote => "vote", Ready => "ready", Told => "told",
    Decision => "decision", Acknowledgement => "acknowledgement",
    Inquire => "inquire", Report => "report", Newer => "newer",
);
