//! Consistent snapshots of a group in which tokens are passed between processes.

use alloc::vec::Vec;
use core::fmt;

use super::user::{ServiceUser, UserModelConfig, UserState};
use crate::process::ProcessId;

/// Initial number of tokens of every process. Processes neither create nor lose tokens. Therefore a
/// consistent snapshot shows exactly as many tokens as the group had at the start.
pub const INITIAL_TOKENS: u64 = 2;

/// Identifier of a snapshot: the initiator, and a number that the initiator gave to the snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SnapshotId {
    /// Process that initiated the snapshot.
    pub by: ProcessId,
    /// Number of the snapshot. Each initiator counts its snapshots from 1.
    pub number: u64,
}

impl fmt::Display for SnapshotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "snapshot {} of {}", self.number, self.by)
    }
}

/// Command of the local user to the snapshot service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Give tokens to another process, at most as many as this process holds.
    Give {
        /// Process that receives the tokens.
        to: ProcessId,
        /// Number of tokens to give.
        tokens: u64,
    },
    /// Take a snapshot of all processes.
    Record,
}

/// Event of the snapshot service for the local user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// Tokens were sent.
    Given {
        /// Process that receives the tokens.
        to: ProcessId,
        /// Number of tokens.
        tokens: u64,
    },
    /// Tokens from another process have arrived.
    Taken {
        /// Process that sent the tokens.
        from: ProcessId,
        /// Number of tokens.
        tokens: u64,
    },
    /// The current state of this process was recorded for a snapshot.
    Recorded {
        /// Snapshot that contains the state.
        snapshot: SnapshotId,
        /// Number of tokens that this process holds in the snapshot.
        tokens: u64,
    },
    /// The channels to this process were recorded for a snapshot.
    Closed {
        /// Snapshot that contains the channels.
        snapshot: SnapshotId,
        /// For each other process: the number of tokens in flight from it to this process.
        channels: Vec<(ProcessId, u64)>,
    },
    /// The snapshot is complete. Only the initiator receives this event.
    Collected {
        /// Snapshot that is complete.
        snapshot: SnapshotId,
        /// Number of tokens that all processes together hold in the snapshot.
        held: u64,
        /// Number of tokens that are in flight on all channels in the snapshot.
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

/// A user of snapshots. The user gives tokens to the next process on the ring of ids, one token at
/// a time. Each time before it gives a token, the user of the first process takes a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct User {
    at: ProcessId,
    next: ProcessId,
    /// Number of tokens that the user has yet to give. If the process is alone in its group, the
    /// number of snapshots that the user has yet to take.
    remaining: u32,
    tokens: u64,
    /// True if the next command gives a token, and false if it takes a snapshot.
    gives: bool,
    is_waiting: bool,
}

impl ServiceUser for User {
    type Command = Command;
    type Event = Event;

    fn new(config: &UserModelConfig) -> Self {
        let next = ProcessId((config.at.0 + 1) % config.size);
        let gives = config.at != ProcessId(0);
        User {
            at: config.at,
            next,
            remaining: config.work_count,
            tokens: INITIAL_TOKENS,
            gives,
            is_waiting: false,
        }
    }

    fn next_command(&self) -> Option<Command> {
        let may = self.remaining > 0 && if self.gives { self.tokens > 0 } else { !self.is_waiting };
        may.then_some(match self.gives {
            true => Command::Give { to: self.next, tokens: 1 },
            false => Command::Record,
        })
    }

    fn requests_agreement(command: &Command) -> bool {
        *command == Command::Record
    }

    fn on_command(&mut self, command: &Command) {
        let is_first = self.at == ProcessId(0);
        match command {
            Command::Give { .. } => {
                self.gives = !is_first;
                self.remaining = self.remaining.saturating_sub(1);
            }
            Command::Record => {
                self.is_waiting = true;
                // A process that is alone in its group can give no tokens.
                self.gives = self.next != self.at;
                self.remaining = self.remaining.saturating_sub(u32::from(!self.gives));
            }
        }
    }

    fn on_event(&mut self, event: &Event) {
        match event {
            Event::Given { tokens, .. } => self.tokens = self.tokens.saturating_sub(*tokens),
            Event::Taken { tokens, .. } => self.tokens = self.tokens.saturating_add(*tokens),
            Event::Collected { .. } => self.is_waiting = false,
            Event::Recorded { .. } | Event::Closed { .. } => {}
        }
    }

    fn on_crash(&mut self) {
        (self.remaining, self.is_waiting) = (0, false);
    }

    fn state(&self) -> UserState {
        if self.is_waiting { UserState::Waiting } else { UserState::Idle }
    }
}
