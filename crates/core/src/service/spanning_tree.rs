//! A spanning tree of a graph: each process learns which of its edges belong to the tree.

use core::fmt;

use alloc::vec::Vec;

use super::user::{ServiceUser, UserModelConfig, UserState};
use crate::process::ProcessId;

/// Command of the local user to the spanning tree service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Build the tree. Any number of processes may issue this command; they build one tree.
    Build,
}

/// Event of the spanning tree service for the local user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// The tree is complete. Every process receives this event once.
    Built {
        /// Neighbours of this process in the tree, in ascending order.
        neighbours: Vec<ProcessId>,
    },
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("builds the tree")
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Event::Built { neighbours } = self;
        f.write_str("knows its tree edges:")?;
        if neighbours.is_empty() {
            return f.write_str(" none");
        }
        neighbours.iter().try_for_each(|peer| write!(f, " {peer}"))
    }
}

/// A user that requests the tree once, if it does not know the tree already.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct User {
    has_request: bool,
    phase: Phase,
}

/// Knowledge of a user about the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// The user has not requested the tree and does not know it.
    Unaware,
    Waiting,
    Informed,
    Down,
}

impl ServiceUser for User {
    type Command = Command;
    type Event = Event;

    const IS_COLLECTIVE: bool = true;

    fn new(config: &UserModelConfig) -> Self {
        User { has_request: config.work_count > 0, phase: Phase::Unaware }
    }

    fn next_command(&self) -> Option<Command> {
        self.has_request.then_some(Command::Build)
    }

    fn on_command(&mut self, _command: &Command) {
        self.has_request = false;
        if self.phase == Phase::Unaware {
            self.phase = Phase::Waiting;
        }
    }

    fn on_event(&mut self, _event: &Event) {
        *self = User { has_request: false, phase: Phase::Informed };
    }

    fn on_crash(&mut self) {
        *self = User { has_request: false, phase: Phase::Down };
    }

    fn state(&self) -> UserState {
        match self.phase {
            Phase::Unaware => UserState::LacksCommonResult,
            Phase::Waiting => UserState::Waiting,
            Phase::Informed => UserState::HasCommonResult,
            Phase::Down => UserState::Idle,
        }
    }
}
