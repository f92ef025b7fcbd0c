//! Work that makes more work at others, and whoever gave the first wants to know when all is done.

use core::fmt;

use super::agreement::{Client, Seat, Standing};
use crate::process::ProcessId;

/// What the local user may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Begin a computation here. Allowed when the one before has ended.
    Compute {
        /// How often what makes work may make more: in the last generation nothing does.
        generations: u32,
    },
}

/// What the local user is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// A piece of work is here.
    Tasked {
        /// Who began the computation that it is of.
        of: ProcessId,
    },
    /// A piece of work is done, and has made others, which are on their way.
    Done {
        /// Who began the computation that it is of.
        of: ProcessId,
        /// How many others.
        more: u32,
    },
    /// To whoever began it: nobody works for it any more, nor ever will.
    Terminated,
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Command::Compute { generations } = self;
        write!(f, "begins to compute, {generations} generations")
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Tasked { of } => write!(f, "has a piece of {of}'s work"),
            Event::Done { of, more: 0 } => write!(f, "has done a piece of {of}'s work"),
            Event::Done { of, more } => write!(f, "has done a piece of {of}'s work, {more} more"),
            Event::Terminated => f.write_str("knows that all is done"),
        }
    }
}

/// A user who computes: again when it knows that the last computation has ended. The first process
/// begins with what makes more work twice over, the others with one piece each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct User {
    generations: u32,
    left: u32,
    waits: bool,
}

impl Client for User {
    type Command = Command;
    type Event = Event;

    fn new(seat: &Seat) -> Self {
        let generations = if seat.at == ProcessId(0) { 2 } else { 0 };
        User { generations, left: seat.times, waits: false }
    }

    fn next(&self) -> Option<Command> {
        let computes = !self.waits && self.left > 0;
        computes.then_some(Command::Compute { generations: self.generations })
    }

    fn asked(&mut self, _command: &Command) {
        self.left = self.left.saturating_sub(1);
        self.waits = true;
    }

    fn told(&mut self, event: &Event) {
        self.waits &= *event != Event::Terminated;
    }

    fn crashed(&mut self) {
        (self.left, self.waits) = (0, false);
    }

    fn standing(&self) -> Standing {
        if self.waits { Standing::Waiting } else { Standing::Content }
    }
}
