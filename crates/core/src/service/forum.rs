//! Group mutual exclusion: processes of one forum may be inside together, of different forums not.

use core::fmt;

use super::agreement::{ServiceUser, UserConfig, UserState};

/// Command of the local user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Request to attend a forum. Allowed outside, when not waiting.
    Attend {
        /// Number of the forum.
        forum: u64,
    },
    /// Leave the forum. Allowed inside.
    Depart,
}

/// Event for the local user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// This process is inside.
    Attending {
        /// Number of the forum.
        forum: u64,
    },
    /// This process has left its forum.
    Departed,
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Command::Attend { forum } => write!(f, "requests forum {forum}"),
            Command::Depart => f.write_str("leaves its forum"),
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Attending { forum } => write!(f, "attends forum {forum}"),
            Event::Departed => f.write_str("has left"),
        }
    }
}

/// A user that attends the forums 1 and 2 in turn. The first half of the processes begins with 1,
/// the other half with 2.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct User {
    remaining: u32,
    /// Forum of the next request.
    forum: u64,
    position: Position,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Position {
    Outside,
    Waiting,
    Inside,
}

impl ServiceUser for User {
    type Command = Command;
    type Event = Event;

    fn new(config: &UserConfig) -> Self {
        let UserConfig { at, size, .. } = *config;
        let is_in_second_half = u64::from(at.0) * 2 >= u64::from(size);
        let forum = 1 + u64::from(is_in_second_half);
        User { remaining: config.times, forum, position: Position::Outside }
    }

    fn next_command(&self) -> Option<Command> {
        match self.position {
            Position::Outside if self.remaining > 0 => Some(Command::Attend { forum: self.forum }),
            Position::Inside => Some(Command::Depart),
            Position::Outside | Position::Waiting => None,
        }
    }

    fn is_counted(command: &Command) -> bool {
        matches!(command, Command::Attend { .. })
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
            Command::Attend { .. } => {
                self.remaining = self.remaining.saturating_sub(1);
                self.forum = 3 - self.forum;
                self.position = Position::Waiting;
            }
            Command::Depart => self.position = Position::Outside,
        }
    }

    fn on_event(&mut self, event: &Event) {
        self.position = match event {
            Event::Attending { .. } => Position::Inside,
            Event::Departed => Position::Outside,
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
