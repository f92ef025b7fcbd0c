//! Waves: a process sends a message through the whole group, and learns when all processes have
//! taken part.

use core::fmt;

use super::user::{ServiceUser, UserModelConfig, UserState};
use crate::process::ProcessId;

/// Command of the local user to the wave service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Start a wave at this process. Allowed when the previous wave of this process has returned.
    Explore,
}

/// Event of the wave service for the local user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// A wave reached this process.
    Reached {
        /// Process that started the wave.
        initiator: ProcessId,
        /// Parent in the tree of the wave; `None` at the initiator.
        parent: Option<ProcessId>,
    },
    /// All processes have taken part. Only the initiator receives this event.
    Returned {
        /// Number of processes that have taken part.
        size: u32,
    },
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("explores")
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Reached { parent: None, .. } => f.write_str("is the root"),
            Event::Reached { initiator, parent: Some(parent) } => {
                write!(f, "joins {initiator}'s wave, parent {parent}")
            }
            Event::Returned { size } => write!(f, "has explored all {size}"),
        }
    }
}

/// A user that starts waves. Each wave starts after the previous wave has returned.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct User {
    remaining: u32,
    is_waiting: bool,
}

impl ServiceUser for User {
    type Command = Command;
    type Event = Event;

    fn new(config: &UserModelConfig) -> Self {
        User { remaining: config.work_count, is_waiting: false }
    }

    fn next_command(&self) -> Option<Command> {
        (!self.is_waiting && self.remaining > 0).then_some(Command::Explore)
    }

    fn on_command(&mut self, _command: &Command) {
        self.remaining = self.remaining.saturating_sub(1);
        self.is_waiting = true;
    }

    fn on_event(&mut self, event: &Event) {
        self.is_waiting &= !matches!(event, Event::Returned { .. });
    }

    fn on_crash(&mut self) {
        (self.remaining, self.is_waiting) = (0, false);
    }

    fn state(&self) -> UserState {
        if self.is_waiting { UserState::Waiting } else { UserState::Idle }
    }
}
