//! Pictures of a whole group, taken while tokens pass from hand to hand in it.

use alloc::vec::Vec;
use core::fmt;

use super::agreement::{Client, Seat, Standing};
use crate::process::ProcessId;

/// How many tokens everybody has at the start. They are neither made nor lost: that is by what a
/// picture is judged.
pub const TOKENS: u64 = 2;

/// The name of a picture: who asked for it, and which it is of theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Snapshot {
    /// Who asked.
    pub by: ProcessId,
    /// Which of theirs, from 1.
    pub number: u64,
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "snapshot {} of {}", self.number, self.by)
    }
}

/// What the local user may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Give tokens away, as many of these as there are.
    Give {
        /// To whom.
        to: ProcessId,
        /// How many.
        tokens: u64,
    },
    /// Take a picture of everybody.
    Record,
}

/// What the local user is told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// Tokens are on their way.
    Given {
        /// To whom.
        to: ProcessId,
        /// How many.
        tokens: u64,
    },
    /// Tokens have arrived.
    Taken {
        /// From whom.
        from: ProcessId,
        /// How many.
        tokens: u64,
    },
    /// This process is in the picture, as it is now.
    Recorded {
        /// Of which picture.
        snapshot: Snapshot,
        /// How many tokens it has.
        tokens: u64,
    },
    /// So are the channels that lead to this process.
    Closed {
        /// Of which picture.
        snapshot: Snapshot,
        /// From everybody else: how many tokens were under way.
        channels: Vec<(ProcessId, u64)>,
    },
    /// To whoever asked: the picture is complete.
    Collected {
        /// Which.
        snapshot: Snapshot,
        /// How many tokens the processes have in it.
        held: u64,
        /// How many are under way in it.
        under_way: u64,
    },
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Command::Give { to, tokens } => write!(f, "gives {to} {tokens}"),
            Command::Record => f.write_str("takes a picture"),
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Given { to, tokens } => write!(f, "has given {to} {tokens}"),
            Event::Taken { from, tokens } => write!(f, "has {tokens} of {from}"),
            Event::Recorded { tokens, .. } => write!(f, "is recorded with {tokens}"),
            Event::Closed { channels, .. } => {
                f.write_str("has its channels recorded:")?;
                channels.iter().try_for_each(|(from, tokens)| write!(f, " {tokens} of {from}"))
            }
            Event::Collected { snapshot, held, under_way } => {
                write!(f, "has {snapshot}: {held} held, {under_way} under way")
            }
        }
    }
}

/// A user of pictures: gives tokens to the next process on the ring of ids, one at a time. The
/// first process takes a picture before each of its gifts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct User {
    at: ProcessId,
    next: ProcessId,
    left: u32,
    tokens: u64,
    /// Whether it gives next, and does not take a picture.
    gives: bool,
    waits: bool,
}

impl Client for User {
    type Command = Command;
    type Event = Event;

    fn new(seat: &Seat) -> Self {
        let next = ProcessId((seat.at.0 + 1) % seat.size);
        let gives = seat.at != ProcessId(0);
        User { at: seat.at, next, left: seat.times, tokens: TOKENS, gives, waits: false }
    }

    fn next(&self) -> Option<Command> {
        let may = self.left > 0 && if self.gives { self.tokens > 0 } else { !self.waits };
        may.then_some(match self.gives {
            true => Command::Give { to: self.next, tokens: 1 },
            false => Command::Record,
        })
    }

    fn is_counted(command: &Command) -> bool {
        *command == Command::Record
    }

    fn asked(&mut self, command: &Command) {
        let is_first = self.at == ProcessId(0);
        match command {
            Command::Give { .. } => {
                self.gives = !is_first;
                self.left = self.left.saturating_sub(1);
            }
            Command::Record => {
                self.waits = true;
                // Who is alone has nobody to give to.
                self.gives = self.next != self.at;
                self.left = self.left.saturating_sub(u32::from(!self.gives));
            }
        }
    }

    fn told(&mut self, event: &Event) {
        match event {
            Event::Given { tokens, .. } => self.tokens = self.tokens.saturating_sub(*tokens),
            Event::Taken { tokens, .. } => self.tokens = self.tokens.saturating_add(*tokens),
            Event::Collected { .. } => self.waits = false,
            Event::Recorded { .. } | Event::Closed { .. } => {}
        }
    }

    fn crashed(&mut self) {
        (self.left, self.waits) = (0, false);
    }

    fn standing(&self) -> Standing {
        if self.waits { Standing::Waiting } else { Standing::Content }
    }
}
