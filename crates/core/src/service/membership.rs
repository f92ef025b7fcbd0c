//! Who belongs to a group now: views, one after the other.

use core::fmt;

use super::agreement::{Client, Seat, Standing};
use crate::process_set::ProcessSet;

/// Who belongs to the group, and the how-manieth answer to this it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct View {
    /// Its place in the sequence of views, from 1.
    pub number: u64,
    /// Who belongs to it.
    pub members: ProcessSet,
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "view {} of {:?}", self.number, self.members)
    }
}

/// What the local user may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Belong to it no longer. Allowed inside.
    Leave,
    /// Belong to it again. Allowed to whoever has left.
    Join,
}

/// What the local user is told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// This process belongs to a view that is the newest.
    Installed {
        /// Which.
        view: View,
    },
    /// This process does not belong to it any more.
    Removed {
        /// The view that it does not belong to.
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

/// A user of a group. The one of the last process leaves, comes back, and leaves again, as often as
/// it may ask: somebody has to stay.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct User {
    left: u32,
    /// Whether it belongs, as far as it was told.
    belongs: bool,
    /// Whether it has asked to leave, and not since to join.
    has_left: bool,
    waits: bool,
}

impl Client for User {
    type Command = Command;
    type Event = Event;

    fn new(seat: &Seat) -> Self {
        let is_last = seat.size > 1 && seat.at.number() == seat.size;
        let left = if is_last { seat.times } else { 0 };
        User { left, belongs: true, has_left: false, waits: false }
    }

    fn next(&self) -> Option<Command> {
        // Who was removed in vain is taken in again without asking.
        let asks = !self.waits && self.left > 0 && self.belongs != self.has_left;
        asks.then_some(if self.has_left { Command::Join } else { Command::Leave })
    }

    fn asked(&mut self, command: &Command) {
        self.left = self.left.saturating_sub(1);
        self.has_left = *command == Command::Leave;
        self.waits = true;
    }

    fn told(&mut self, event: &Event) {
        self.belongs = matches!(event, Event::Installed { .. });
        self.waits &= self.belongs == self.has_left;
    }

    fn crashed(&mut self) {
        (self.left, self.waits) = (0, false);
    }

    fn standing(&self) -> Standing {
        if self.waits { Standing::Waiting } else { Standing::Content }
    }
}
