//! Broadcast: all correct processes deliver an item, or none does.

use core::fmt;

use super::user::{ServiceUser, UserModelConfig, UserState};
use crate::process::ProcessId;

/// Identifier of a broadcast item: the sender, and a number that the sender gave to the item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ItemId {
    /// Process that broadcast the item.
    pub from: ProcessId,
    /// Number of the item. Each sender counts its items from 1.
    pub number: u64,
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "item {} of {}", self.number, self.from)
    }
}

/// Command of the local user to the broadcast service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Broadcast an item. Each process numbers its items from 1.
    Broadcast {
        /// Number of the item.
        number: u64,
    },
}

/// Event of the broadcast service for the local user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// This process delivers an item.
    Delivered {
        /// Item that was delivered.
        item: ItemId,
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

/// A user that broadcasts its items one by one. The user waits for the delivery of an item before
/// it broadcasts the next item.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct User {
    at: ProcessId,
    sent: u64,
    limit: u64,
    is_waiting: bool,
}

impl ServiceUser for User {
    type Command = Command;
    type Event = Event;

    fn new(config: &UserModelConfig) -> Self {
        User { at: config.at, sent: 0, limit: config.work_count.into(), is_waiting: false }
    }

    fn next_command(&self) -> Option<Command> {
        let sends = !self.is_waiting && self.sent < self.limit;
        sends.then_some(Command::Broadcast { number: self.sent + 1 })
    }

    fn on_command(&mut self, command: &Command) {
        let Command::Broadcast { number } = command;
        self.sent = *number;
        self.is_waiting = true;
    }

    fn on_event(&mut self, event: &Event) {
        let Event::Delivered { item } = event;
        self.is_waiting &= *item != ItemId { from: self.at, number: self.sent };
    }

    /// Makes the user broadcast nothing more. A broadcast algorithm may lose its count of items in
    /// a crash, and would then reuse numbers of earlier items.
    fn on_crash(&mut self) {
        self.is_waiting = false;
        self.limit = self.sent;
    }

    fn state(&self) -> UserState {
        if self.is_waiting { UserState::Waiting } else { UserState::Idle }
    }
}
