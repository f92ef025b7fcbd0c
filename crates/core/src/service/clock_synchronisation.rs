//! Synchronisation of clocks. Times are in ticks.

use crate::service::Term;

/// Command of the local user to clock synchronisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Set the clock of this process manually.
    Set {
        /// New reading of the clock, in ticks.
        to: i64,
    },
    /// Synchronise all clocks now. A process that does not lead ignores this command.
    Synchronise,
    /// Read the clock of this process.
    Read,
}

/// Event of clock synchronisation for the local user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// The clock of this process was adjusted.
    Adjusted {
        /// Adjustment in ticks; negative if the clock was set back.
        by: i64,
        /// Term of the leader that adjusted the clock.
        term: Term,
    },
    /// The clock was read. This is the answer to [`Command::Read`].
    Shows {
        /// Reading of the clock, in ticks.
        time: i64,
    },
}
