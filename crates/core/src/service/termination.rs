//! Termination detection: work creates more work at other processes, and the initiator learns when
//! all work is done.

use core::fmt;

use super::user::{ServiceUser, UserModelConfig, UserState};
use crate::process::ProcessId;

/// Command of the local user to termination detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Begin a computation at this process. Allowed if the previous computation of this process has
    /// ended.
    Compute {
        /// Number of generations of work after the initiator's own piece of work. The initiator's
        /// piece creates the first generation, and each generation creates the next. The last
        /// generation creates no work.
        generations: u32,
    },
}

/// Event that termination detection reports to the local user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// A piece of work arrived.
    Tasked {
        /// Initiator of the computation.
        of: ProcessId,
    },
    /// This process has completed a piece of work. Before that, this process sent all work that the
    /// piece created to other processes.
    Done {
        /// Initiator of the computation.
        of: ProcessId,
        /// Number of pieces of work that the completed piece created.
        more: u32,
    },
    /// The computation has ended for good. Only the initiator receives this event.
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

/// A user that begins its next computation when its previous computation has ended. At the first
/// process, a computation has two generations of further work. At any other process, the initial
/// piece of work creates no further work.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct User {
    generations: u32,
    remaining: u32,
    is_waiting: bool,
}

impl ServiceUser for User {
    type Command = Command;
    type Event = Event;

    fn new(config: &UserModelConfig) -> Self {
        let generations = if config.at == ProcessId(0) { 2 } else { 0 };
        User { generations, remaining: config.work_count, is_waiting: false }
    }

    fn next_command(&self) -> Option<Command> {
        let computes = !self.is_waiting && self.remaining > 0;
        computes.then_some(Command::Compute { generations: self.generations })
    }

    fn on_command(&mut self, _command: &Command) {
        self.remaining = self.remaining.saturating_sub(1);
        self.is_waiting = true;
    }

    fn on_event(&mut self, event: &Event) {
        self.is_waiting &= *event != Event::Terminated;
    }

    fn on_crash(&mut self) {
        (self.remaining, self.is_waiting) = (0, false);
    }

    fn state(&self) -> UserState {
        if self.is_waiting { UserState::Waiting } else { UserState::Idle }
    }
}
