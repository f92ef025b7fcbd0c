//! Clocks that are brought together. Times are in ticks.

use crate::service::Term;

/// What the local user may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Set the clock of this process by hand.
    Set {
        /// What it shall show now.
        to: i64,
    },
    /// Bring all clocks together now. Only the leader does; others do nothing.
    Synchronise,
    /// Say what the clock of this process shows.
    Read,
}

/// What the local user is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// The clock was adjusted.
    Adjusted {
        /// By how much; back, where it is negative.
        by: i64,
        /// By whom.
        term: Term,
    },
    /// The clock was read.
    Shows {
        /// What it showed.
        time: i64,
    },
}
