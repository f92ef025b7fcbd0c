//! The user model of a log.

use alloc::format;

use super::{Command, Content, Event, Payload};
use crate::process::ProcessId;
use crate::service::user::{ServiceUser, UserModelConfig, UserState};

/// A user of a log. The user appends and reads in turn, one command at a time. It issues appends
/// and reads only while its process leads or relays to the leader. While no leader is known, the
/// user waits for one. The users at processes with an odd index, counted from 0, begin with a read,
/// and all others with an append. When the log needs a snapshot, the user provides one.
///
/// The user's state machine stores only a hash of all payloads, in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct User {
    at: ProcessId,
    /// Ticket of the last command of this user.
    ticket: u64,
    /// Number of appends and reads that the user has issued.
    issued: u64,
    /// Number of appends and reads that the user issues in total.
    limit: u64,
    is_waiting: bool,
    needs_snapshot: bool,
    belief: Belief,
    /// Index of the last applied entry.
    applied: u64,
    state: u32,
}

/// Knowledge of a user about the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Belief {
    /// The user has received no event about the leader since the last boot.
    Unknown,
    NoLeader,
    Me,
    Another,
    /// Another process leads, and this process relays commands to that process.
    Relayed,
}

impl User {
    /// Returns the payload that this user appends with `ticket`. Different users and different
    /// tickets yield different payloads.
    fn payload(&self, ticket: u64) -> Payload {
        let text = format!("{}.{ticket}", self.at.display_number());
        Payload::new(text.as_bytes())
    }

    fn apply(&mut self, index: u64, content: &Content) {
        self.applied = index;
        if let Content::Payload(payload) = content {
            let fold = |state: u32, byte: &u8| (state ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
            self.state = payload.bytes().iter().fold(self.state, fold);
        }
    }

    /// Returns true if this process executes the user's commands or relays them to the leader.
    fn is_served(&self) -> bool {
        matches!(self.belief, Belief::Me | Belief::Relayed)
    }

    fn snapshot(&self) -> Payload {
        Payload::new(format!("{:08x}", self.state).as_bytes())
    }

    fn restore(&mut self, index: u64, snapshot: &Payload) {
        let text = core::str::from_utf8(snapshot.bytes()).unwrap_or_default();
        self.state = u32::from_str_radix(text, 16).unwrap_or_default();
        self.applied = index;
    }
}

impl ServiceUser for User {
    type Command = Command;
    type Event = Event;

    fn new(config: &UserModelConfig) -> Self {
        let limit = config.work_count.into();
        User {
            at: config.at,
            ticket: 0,
            issued: 0,
            limit,
            is_waiting: false,
            needs_snapshot: false,
            belief: Belief::Unknown,
            applied: 0,
            state: 0,
        }
    }

    fn first_command(config: &UserModelConfig) -> Option<Command> {
        User { belief: Belief::Me, ..User::new(config) }.next_command()
    }

    fn next_command(&self) -> Option<Command> {
        let ticket = self.ticket + 1;
        if self.needs_snapshot && !self.is_waiting {
            return Some(Command::Compact { ticket, index: self.applied, state: self.snapshot() });
        }
        let may = self.is_served() && !self.is_waiting && self.issued < self.limit;
        let appends = (self.issued + u64::from(self.at.0)).is_multiple_of(2);
        may.then(|| match appends {
            true => Command::Append { ticket, payload: self.payload(ticket) },
            false => Command::Read { ticket },
        })
    }

    fn requests_agreement(command: &Command) -> bool {
        !matches!(command, Command::Compact { .. })
    }

    fn on_command(&mut self, command: &Command) {
        self.ticket = command.ticket();
        self.is_waiting = true;
        match command {
            Command::Compact { .. } => self.needs_snapshot = false,
            _ => self.issued += 1,
        }
    }

    fn on_event(&mut self, event: &Event) {
        match event {
            Event::Leading { .. } => self.belief = Belief::Me,
            Event::Following { leader: Some(_), .. } => self.belief = Belief::Another,
            Event::Following { leader: None, .. } => self.belief = Belief::NoLeader,
            Event::Relaying { .. } => self.belief = Belief::Relayed,
            Event::Committed { index, entry } => self.apply(*index, &entry.content),
            Event::SnapshotNeeded { .. } => self.needs_snapshot = true,
            Event::Restored { index, state, .. } => {
                self.restore(*index, state);
                self.needs_snapshot = false;
            }
            event => self.is_waiting &= event.answered_ticket() != Some(self.ticket),
        }
    }

    /// Keeps the number of the last ticket, so that the user continues with new tickets after
    /// recovery.
    fn on_crash(&mut self) {
        (self.is_waiting, self.needs_snapshot) = (false, false);
        self.belief = Belief::Unknown;
        (self.applied, self.state) = (0, 0);
    }

    fn state(&self) -> UserState {
        let lost = matches!(self.belief, Belief::Unknown | Belief::NoLeader);
        let is_waiting = self.is_waiting || (lost && self.issued < self.limit);
        if is_waiting { UserState::Waiting } else { UserState::Idle }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::Service;

    #[test]
    fn user_issues_commands_only_under_leader() {
        let mut user = User::new(&UserModelConfig {
            service: Service::Log,
            at: ProcessId(0),
            size: 3,
            work_count: 2,
        });
        assert_eq!((user.next_command(), user.state()), (None, UserState::Waiting));
        user.on_event(&Event::Following { term: 1, leader: Some(ProcessId(1)) });
        assert_eq!((user.next_command(), user.state()), (None, UserState::Idle));
        user.on_event(&Event::Leading { term: 2 });
        let append = user.next_command().expect("it leads");
        assert_eq!(append, Command::Append { ticket: 1, payload: Payload::new(*b"1.1") });
        user.on_command(&append);
        assert_eq!((user.next_command(), user.state()), (None, UserState::Waiting));
        user.on_event(&Event::Unknown { ticket: 1 });
        let read = Command::Read { ticket: 2 };
        assert_eq!((user.next_command(), user.state()), (Some(read.clone()), UserState::Idle));
        user.on_command(&read);
        user.on_crash();
        assert_eq!((user.next_command(), user.state()), (None, UserState::Idle));
    }

    #[test]
    fn user_issues_commands_when_relayed() {
        let mut user = User::new(&UserModelConfig {
            service: Service::Log,
            at: ProcessId(1),
            size: 3,
            work_count: 1,
        });
        user.on_event(&Event::Relaying { term: 1, leader: ProcessId(0) });
        assert_eq!(user.next_command(), Some(Command::Read { ticket: 1 }));
    }
}
