//! Messages of three-phase commit.

use tenure_core::service::commit::TransactionId;
use tenure_core::{Term, labelled};

use super::TransactionStates;

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Asks whether the receiver can commit.
    Prepare {
        /// Transaction to vote on.
        transaction: TransactionId,
    },
    /// The sender's vote.
    Vote {
        /// Transaction on which the sender votes.
        transaction: TransactionId,
        /// True if the vote is yes.
        yes: bool,
    },
    /// Informs the receiver that all processes have voted yes.
    Ready {
        /// Term in which the sender leads.
        term: Term,
        /// Transaction that can commit.
        transaction: TransactionId,
    },
    /// Confirms that the sender knows that all processes have voted yes.
    Told {
        /// Term in the `Ready` message that this message confirms.
        term: Term,
        /// Transaction that can commit.
        transaction: TransactionId,
    },
    /// Announces the decision.
    Decision {
        /// Transaction that is decided.
        transaction: TransactionId,
        /// True if the transaction commits.
        commits: bool,
    },
    /// Acknowledges the decision.
    Acknowledgement {
        /// Transaction whose decision is acknowledged.
        transaction: TransactionId,
    },
    /// A new leader asks for the state of all transactions that the receiver knows.
    Inquire {
        /// Term of the new leader.
        term: Term,
    },
    /// Reports all transactions that the sender knows. From then on, the sender follows no older
    /// term.
    Report {
        /// Term in the `Inquire` message to which this message responds.
        term: Term,
        /// Transactions known to the sender.
        log: TransactionStates,
    },
    /// Informs the receiver of a newer term.
    Newer {
        /// Newest term known to the sender.
        term: Term,
    },
}

labelled!(
    Message, Agreement,
    Prepare => "prepare", Vote => "vote", Ready => "ready", Told => "told",
    Decision => "decision", Acknowledgement => "acknowledgement",
    Inquire => "inquire", Report => "report", Newer => "newer",
);
