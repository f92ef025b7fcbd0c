//! Group membership: the members install a sequence of views. A view is a numbered set of members.

use core::fmt;

use super::user::{ServiceUser, UserModelConfig, UserState};
use crate::process_set::ProcessSet;

/// A numbered set of members.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct View {
    /// Position in the sequence of views, from 1.
    pub number: u64,
    /// Members of the view.
    pub members: ProcessSet,
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "view {} of {:?}", self.number, self.members)
    }
}

/// Command of the local user to the membership service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Leave the group. Allowed if this process is a member.
    Leave,
    /// Join the group again. Allowed if this process has left the group.
    Join,
}

/// Event of the membership service for the local user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// This process installed the newest view and belongs to it.
    Installed {
        /// View that the process installed.
        view: View,
    },
    /// This process is no longer a member of the group.
    Removed {
        /// View without this process.
        view: View,
    },
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Command::Leave => "wants to leave",
            Command::Join => "wants to join",
        })
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Installed { view } => write!(f, "installs {view}"),
            Event::Removed { view } => write!(f, "is not in {view}"),
        }
    }
}

/// A user of group membership. The user of the last process alternately leaves and joins, until it
/// has issued all its commands. All other users issue no commands, so the group always has members.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct User {
    remaining: u32,
    /// True if the process is a member according to the last event.
    is_member: bool,
    /// True if the last command of the user was to leave the group.
    has_left: bool,
    is_waiting: bool,
}

impl ServiceUser for User {
    type Command = Command;
    type Event = Event;

    fn new(config: &UserModelConfig) -> Self {
        let is_last = config.size > 1 && config.at.display_number() == config.size;
        let remaining = if is_last { config.work_count } else { 0 };
        User { remaining, is_member: true, has_left: false, is_waiting: false }
    }

    fn next_command(&self) -> Option<Command> {
        // The user issues `Join` only after its own `Leave`. If its process was removed by mistake,
        // the user issues no command, because the service readmits the process.
        let has_command = !self.is_waiting && self.remaining > 0 && self.is_member != self.has_left;
        has_command.then_some(if self.has_left { Command::Join } else { Command::Leave })
    }

    fn on_command(&mut self, command: &Command) {
        self.remaining = self.remaining.saturating_sub(1);
        self.has_left = *command == Command::Leave;
        self.is_waiting = true;
    }

    fn on_event(&mut self, event: &Event) {
        self.is_member = matches!(event, Event::Installed { .. });
        self.is_waiting &= self.is_member == self.has_left;
    }

    fn on_crash(&mut self) {
        (self.remaining, self.is_waiting) = (0, false);
    }

    fn state(&self) -> UserState {
        if self.is_waiting { UserState::Waiting } else { UserState::Idle }
    }
}
