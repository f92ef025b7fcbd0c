//! Drinking philosophers. Any two neighbours in a graph share a bottle. For a session, a process
//! needs some of the bottles that it shares with its neighbours.

use core::fmt;

use super::session_user::{AcquireReleaseSequence, AcquireReleaseUser};
use super::user::UserModelConfig;
use crate::process::ProcessId;
use crate::process_set::ProcessSet;

/// Command of a drinking philosopher, the local user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Request a session. Allowed when no session is requested or in progress.
    Thirst {
        /// Neighbours with which this process shares the needed bottles. Processes that are not
        /// neighbours are ignored.
        bottles: ProcessSet,
    },
    /// End the session. Allowed during a session.
    Quench,
}

/// Event for a drinking philosopher, the local user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// The session begins: this process holds all bottles that it needs.
    Drinking {
        /// Neighbours with which this process shares the bottles of the session.
        bottles: ProcessSet,
    },
    /// The session has ended.
    Tranquil,
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Command::Thirst { bottles } => write!(f, "needs the bottles of {bottles:?}"),
            Command::Quench => f.write_str("ends its session"),
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Drinking { bottles } => write!(f, "drinks with {bottles:?}"),
            Event::Tranquil => f.write_str("is tranquil"),
        }
    }
}

/// Model of a drinking philosopher, a user of this service.
pub type User = AcquireReleaseUser<DrinkingRequestSequence>;

/// Requests that alternate between sessions with all bottles and sessions with only one bottle,
/// which is shared with the process that has the next number. Processes with an even index begin
/// with all bottles.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DrinkingRequestSequence {
    at: ProcessId,
    size: u32,
    needs_all: bool,
}

impl AcquireReleaseSequence for DrinkingRequestSequence {
    type Command = Command;
    type Event = Event;
    const END: Command = Command::Quench;

    fn new(config: &UserModelConfig) -> Self {
        let UserModelConfig { at, size, .. } = *config;
        DrinkingRequestSequence { at, size, needs_all: at.0.is_multiple_of(2) }
    }

    fn request(&self) -> Command {
        let all = (0..self.size).map(ProcessId).filter(|peer| *peer != self.at);
        let next = ProcessId((self.at.0 + 1) % self.size);
        Command::Thirst { bottles: all.filter(|peer| self.needs_all || *peer == next).collect() }
    }

    fn advance(&mut self) {
        self.needs_all = !self.needs_all;
    }

    fn is_beginning(event: &Event) -> bool {
        matches!(event, Event::Drinking { .. })
    }
}
