//! Small names for those who have large ones.

use core::fmt;

use super::agreement::{Client, Seat, Standing};

/// The largest name that is given in a group of `size` of which fewer than half crash: N + t.
pub const fn largest_name(size: u32) -> u32 {
    size + size.saturating_sub(1) / 2
}

/// What the local user may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Give me a small name. Allowed once.
    Rename,
}

/// What the local user is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// This is yours for ever, and nobody else's.
    Named {
        /// The name, from 1.
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

/// A user who wants a name, once. That of the last of three or more wants none: its process only
/// helps the others to theirs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct User {
    wants: bool,
    waits: bool,
}

impl Client for User {
    type Command = Command;
    type Event = Event;

    const TOGETHER: bool = true;

    fn new(seat: &Seat) -> Self {
        let helps = seat.size > 2 && seat.at.number() == seat.size;
        User { wants: seat.times > 0 && !helps, waits: false }
    }

    fn next(&self) -> Option<Command> {
        self.wants.then_some(Command::Rename)
    }

    fn asked(&mut self, _command: &Command) {
        (self.wants, self.waits) = (false, true);
    }

    fn told(&mut self, _event: &Event) {
        self.waits = false;
    }

    fn crashed(&mut self) {
        (self.wants, self.waits) = (false, false);
    }

    fn standing(&self) -> Standing {
        if self.waits { Standing::Waiting } else { Standing::Content }
    }
}
