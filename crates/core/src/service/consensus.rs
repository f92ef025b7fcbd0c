//! Consensus: all processes propose a value and decide on one of them.

use core::fmt;

use super::user::{ServiceUser, UserModelConfig, UserState};

/// Command of the local user to the consensus service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Propose a value. Every process proposes once.
    Propose {
        /// Value that the process proposes.
        value: u64,
    },
}

/// Event of the consensus service for the local user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// The processes have decided. The decision is final, and the same for all processes. A process
    /// may report the decision again after a recovery.
    Decided {
        /// Value on which the processes decided.
        value: u64,
    },
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Command::Propose { value } = self;
        write!(f, "proposes {value}")
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Event::Decided { value } = self;
        write!(f, "decides {value}")
    }
}

/// A user of consensus. The user proposes the number of its own process, and then waits for the
/// decision.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct User {
    value: u64,
    proposes: bool,
    is_waiting: bool,
    /// True if the user knows the decision. The user may learn the decision before it proposes.
    knows: bool,
}

impl ServiceUser for User {
    type Command = Command;
    type Event = Event;

    const IS_COLLECTIVE: bool = true;

    fn new(config: &UserModelConfig) -> Self {
        let (value, proposes) = (config.at.display_number().into(), config.work_count > 0);
        User { value, proposes, is_waiting: false, knows: false }
    }

    fn next_command(&self) -> Option<Command> {
        (self.proposes && !self.knows).then_some(Command::Propose { value: self.value })
    }

    /// Returns true, because every user must propose. If too few users propose, it is possible that
    /// no process can decide.
    fn must_issue_command(&self) -> bool {
        true
    }

    fn on_command(&mut self, _command: &Command) {
        self.proposes = false;
        self.is_waiting = !self.knows;
    }

    fn on_event(&mut self, _event: &Event) {
        self.knows = true;
        self.is_waiting = false;
    }

    fn on_crash(&mut self) {
        self.knows = false;
        self.is_waiting = false;
    }

    fn state(&self) -> UserState {
        if self.is_waiting { UserState::Waiting } else { UserState::Idle }
    }
}
