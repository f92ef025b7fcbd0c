//! A reusable barrier: no process leaves a round before all processes have arrived in this round.

use core::fmt;

use super::user::{ServiceUser, UserModelConfig, UserState};

/// Command of the local user to the barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Arrive at the barrier and wait for all other processes. Allowed if this process is not
    /// waiting.
    Arrive,
}

/// Event of the barrier for the local user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// All processes have arrived, and this process leaves the barrier.
    Left {
        /// Number of the round, from 1. In each round, every process arrives and leaves once.
        round: u64,
    },
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("arrives")
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Event::Left { round } = self;
        write!(f, "leaves round {round}")
    }
}

/// A user of a barrier. The user must arrive in each round, because all other users wait for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct User {
    remaining: u32,
    is_waiting: bool,
}

impl ServiceUser for User {
    type Command = Command;
    type Event = Event;

    const IS_COLLECTIVE: bool = true;

    fn new(config: &UserModelConfig) -> Self {
        User { remaining: config.work_count, is_waiting: false }
    }

    fn next_command(&self) -> Option<Command> {
        (!self.is_waiting && self.remaining > 0).then_some(Command::Arrive)
    }

    fn must_issue_command(&self) -> bool {
        true
    }

    fn must_wait(&self) -> bool {
        self.is_waiting
    }

    fn on_command(&mut self, _command: &Command) {
        self.remaining = self.remaining.saturating_sub(1);
        self.is_waiting = true;
    }

    fn on_event(&mut self, _event: &Event) {
        self.is_waiting = false;
    }

    fn on_crash(&mut self) {
        (self.remaining, self.is_waiting) = (0, false);
    }

    fn state(&self) -> UserState {
        if self.is_waiting { UserState::Waiting } else { UserState::Idle }
    }
}
