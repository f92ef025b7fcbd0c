//! Broadcast: what one sends, all deliver, or nobody who stays up does.

use core::fmt;

use super::agreement::{Client, Seat, Standing};
use crate::process::ProcessId;

/// What was broadcast: by whom, and which it is of theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Item {
    /// By whom.
    pub from: ProcessId,
    /// Its number there, from 1.
    pub number: u64,
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "item {} of {}", self.number, self.from)
    }
}

/// What the local user may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Broadcast an item. Those of one process are numbered 1, 2, 3 …
    Broadcast {
        /// Its number.
        number: u64,
    },
}

/// What the local user is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// An item arrived.
    Delivered {
        /// Which.
        item: Item,
    },
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Command::Broadcast { number } = self;
        write!(f, "broadcasts item {number}")
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Event::Delivered { item } = self;
        write!(f, "delivers {item}")
    }
}

/// A user of a broadcast: sends its items one after the other, each when its last one came back
/// to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct User {
    at: ProcessId,
    /// How many of its items it has sent.
    sent: u64,
    most: u64,
    waits: bool,
}

impl Client for User {
    type Command = Command;
    type Event = Event;

    fn new(seat: &Seat) -> Self {
        User { at: seat.at, sent: 0, most: seat.times.into(), waits: false }
    }

    fn next(&self) -> Option<Command> {
        let sends = !self.waits && self.sent < self.most;
        sends.then_some(Command::Broadcast { number: self.sent + 1 })
    }

    fn asked(&mut self, command: &Command) {
        let Command::Broadcast { number } = command;
        self.sent = *number;
        self.waits = true;
    }

    fn told(&mut self, event: &Event) {
        let Event::Delivered { item } = event;
        self.waits &= *item != Item { from: self.at, number: self.sent };
    }

    /// Who comes back would send the same numbers again.
    fn crashed(&mut self) {
        self.waits = false;
        self.most = self.sent;
    }

    fn standing(&self) -> Standing {
        if self.waits { Standing::Waiting } else { Standing::Content }
    }
}
