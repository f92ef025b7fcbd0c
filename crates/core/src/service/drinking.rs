//! Sessions that need bottles: neighbours in a graph share a bottle, and a session needs some of
//! them.

use core::fmt;

use super::agreement::{ServiceUser, UserConfig, UserState};
use crate::process::ProcessId;
use crate::process_set::ProcessSet;

/// Command of the local user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Request a session. Allowed when no session is requested or in progress.
    Thirst {
        /// Neighbours whose shared bottles the session needs. Other processes are ignored.
        bottles: ProcessSet,
    },
    /// End the session. Allowed during a session.
    Quench,
}

/// Event for the local user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// The session begins: this process holds all bottles that it needs.
    Drinking {
        /// Neighbours whose shared bottles the session uses.
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

/// A user that alternates between sessions with all bottles and sessions with that of the next
/// process alone. Processes with an even index begin with all bottles.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct User {
    at: ProcessId,
    size: u32,
    remaining: u32,
    /// True if the next session needs all bottles.
    needs_all: bool,
    position: Position,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Position {
    Outside,
    Waiting,
    Inside,
}

impl User {
    fn bottles(&self) -> ProcessSet {
        let all = (0..self.size).map(ProcessId).filter(|peer| *peer != self.at);
        let next = ProcessId((self.at.0 + 1) % self.size);
        all.filter(|peer| self.needs_all || *peer == next).collect()
    }
}

impl ServiceUser for User {
    type Command = Command;
    type Event = Event;

    fn new(config: &UserConfig) -> Self {
        let UserConfig { at, size, times, .. } = *config;
        let needs_all = at.0.is_multiple_of(2);
        User { at, size, remaining: times, needs_all, position: Position::Outside }
    }

    fn next_command(&self) -> Option<Command> {
        match self.position {
            Position::Outside if self.remaining > 0 => {
                Some(Command::Thirst { bottles: self.bottles() })
            }
            Position::Inside => Some(Command::Quench),
            Position::Outside | Position::Waiting => None,
        }
    }

    fn is_counted(command: &Command) -> bool {
        matches!(command, Command::Thirst { .. })
    }

    fn is_obliged(&self) -> bool {
        self.position == Position::Inside
    }

    fn is_holding(&self) -> bool {
        self.position == Position::Inside
    }

    fn must_wait(&self) -> bool {
        self.position == Position::Waiting
    }

    fn on_command(&mut self, command: &Command) {
        match command {
            Command::Thirst { .. } => {
                self.remaining = self.remaining.saturating_sub(1);
                self.needs_all = !self.needs_all;
                self.position = Position::Waiting;
            }
            Command::Quench => self.position = Position::Outside,
        }
    }

    fn on_event(&mut self, event: &Event) {
        self.position = match event {
            Event::Drinking { .. } => Position::Inside,
            Event::Tranquil => Position::Outside,
        };
    }

    fn on_crash(&mut self) {
        (self.remaining, self.position) = (0, Position::Outside);
    }

    fn state(&self) -> UserState {
        match self.position {
            Position::Waiting => UserState::Waiting,
            Position::Outside | Position::Inside => UserState::Idle,
        }
    }
}
