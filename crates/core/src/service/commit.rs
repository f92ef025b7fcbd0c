//! Atomic commit of transactions.

use core::fmt;

use crate::service::Term;

/// Identifier of a transaction: the term of its coordinator, and its number in this term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TransactionId {
    /// Term of the coordinator.
    pub term: Term,
    /// Number of the transaction, counted from 1 in each term.
    pub number: u64,
}

impl fmt::Display for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "transaction {} of term {}", self.number, self.term)
    }
}

/// Command of the local user to atomic commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Begin a transaction in which all processes vote. A process that does not lead reports
    /// [`Event::Refused`].
    Begin,
    /// Vote no on every transaction until the next boot.
    Veto,
}

/// Event of atomic commit for the local user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// This process voted yes and is uncertain until the decision.
    Prepared {
        /// Transaction that the vote belongs to.
        transaction: TransactionId,
    },
    /// The transaction is committed, at this process and at all others.
    Committed {
        /// Transaction that is committed.
        transaction: TransactionId,
    },
    /// The transaction is aborted, at this process and at all others.
    Aborted {
        /// Transaction that is aborted.
        transaction: TransactionId,
    },
    /// No transaction was begun, because this process does not lead.
    Refused,
}
