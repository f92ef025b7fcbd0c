//! Transactions in which all take part or none.

use core::fmt;

use crate::service::Term;

/// The name of a transaction: who began it, and which it is of theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Transaction {
    /// The term in which its coordinator led.
    pub term: Term,
    /// Which of that term, from 1.
    pub number: u64,
}

impl fmt::Display for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "transaction {} of term {}", self.number, self.term)
    }
}

/// What the local user may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Begin a transaction of everybody. Only the leader does; others refuse.
    Begin,
    /// Vote no from now on, until the next boot.
    Veto,
}

/// What the local user is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// This process has promised to do as is decided: until then it is uncertain.
    Prepared {
        /// Of which transaction.
        transaction: Transaction,
    },
    /// Everybody does it.
    Committed {
        /// What.
        transaction: Transaction,
    },
    /// Nobody does it.
    Aborted {
        /// What.
        transaction: Transaction,
    },
    /// No transaction was begun, because this process does not lead.
    Refused,
}
