//! Renaming: processes whose names come from a large range receive new names from a small range.

use core::fmt;

use super::user::{ServiceUser, UserModelConfig, UserState};

/// Returns the largest new name in a group of N = `size` processes: N + t, where t is the largest
/// integer below N/2. Returns 0 for an empty group.
pub const fn largest_name(size: u32) -> u32 {
    size + size.saturating_sub(1) / 2
}

/// Command of the local user to the renaming service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Request a small name. Allowed once.
    Rename,
}

/// Event of the renaming service for the local user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// The process received its new name, which is unique and never changes.
    Named {
        /// New name, from 1.
        name: u32,
    },
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("wants a name")
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Event::Named { name } = self;
        write!(f, "is named {name}")
    }
}

/// A user that requests one name. In a group of three or more processes, the user of the last
/// process requests no name. The last process then only helps the other processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct User {
    wants: bool,
    is_waiting: bool,
}

impl ServiceUser for User {
    type Command = Command;
    type Event = Event;

    const IS_COLLECTIVE: bool = true;

    fn new(config: &UserModelConfig) -> Self {
        let helps = config.size > 2 && config.at.display_number() == config.size;
        User { wants: config.work_count > 0 && !helps, is_waiting: false }
    }

    fn next_command(&self) -> Option<Command> {
        self.wants.then_some(Command::Rename)
    }

    fn on_command(&mut self, _command: &Command) {
        (self.wants, self.is_waiting) = (false, true);
    }

    fn on_event(&mut self, _event: &Event) {
        self.is_waiting = false;
    }

    fn on_crash(&mut self) {
        (self.wants, self.is_waiting) = (false, false);
    }

    fn state(&self) -> UserState {
        if self.is_waiting { UserState::Waiting } else { UserState::Idle }
    }
}
