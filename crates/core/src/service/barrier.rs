//! A place that nobody leaves before all have come, again and again.

use core::fmt;

use super::agreement::{Client, Seat, Standing};

/// What the local user may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Arrive, and wait for the others. Allowed when not waiting.
    Arrive,
}

/// What the local user is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// All have arrived: go on.
    Left {
        /// In which round, from 1.
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

/// A user of a barrier: it is bound to arrive in each round, for the others wait for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct User {
    left: u32,
    waits: bool,
}

impl Client for User {
    type Command = Command;
    type Event = Event;

    const TOGETHER: bool = true;

    fn new(seat: &Seat) -> Self {
        User { left: seat.times, waits: false }
    }

    fn next(&self) -> Option<Command> {
        (!self.waits && self.left > 0).then_some(Command::Arrive)
    }

    fn is_obliged(&self) -> bool {
        true
    }

    fn must_wait(&self) -> bool {
        self.waits
    }

    fn asked(&mut self, _command: &Command) {
        self.left = self.left.saturating_sub(1);
        self.waits = true;
    }

    fn told(&mut self, _event: &Event) {
        self.waits = false;
    }

    fn crashed(&mut self) {
        (self.left, self.waits) = (0, false);
    }

    fn standing(&self) -> Standing {
        if self.waits { Standing::Waiting } else { Standing::Content }
    }
}
