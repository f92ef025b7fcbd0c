//! Who appends to a log and reads it.

use alloc::format;

use super::{Command, Content, Event, Payload};
use crate::process::ProcessId;
use crate::service::agreement::{Client, Seat, Standing};

/// A user of a log: appends and reads in turn, one after the other, while its process leads, or has
/// whoever leads do what it is asked. Otherwise it waits until it knows who leads. Every other
/// process has one that begins with a read. When a snapshot is wanted, it gives one.
///
/// Its state machine is a number into which every payload went, in their order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct User {
    at: ProcessId,
    /// The last ticket.
    ticket: u64,
    /// How often it appended or read.
    asked: u64,
    most: u64,
    /// Whether the last ticket is yet to be answered.
    waits: bool,
    /// Whether a snapshot is wanted.
    is_wanted: bool,
    belief: Belief,
    /// How far it was told.
    applied: u64,
    state: u32,
}

/// Who leads, as far as this user was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Belief {
    /// It was told nothing in this life.
    Untold,
    Nobody,
    Me,
    Another,
    /// Another, which is asked through this process.
    Relayed,
}

impl User {
    /// What it appends under a ticket: no two payloads are the same.
    fn payload(&self, ticket: u64) -> Payload {
        let text = format!("{}.{ticket}", self.at.number());
        Payload::new(text.as_bytes())
    }

    /// The state machine takes an entry.
    fn apply(&mut self, index: u64, content: &Content) {
        self.applied = index;
        if let Content::Payload(payload) = content {
            let fold = |state: u32, byte: &u8| (state ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
            self.state = payload.bytes().iter().fold(self.state, fold);
        }
    }

    /// Whether its process has done what it asks.
    fn is_served(&self) -> bool {
        matches!(self.belief, Belief::Me | Belief::Relayed)
    }

    fn snapshot(&self) -> Payload {
        Payload::new(format!("{:08x}", self.state).as_bytes())
    }

    /// The state machine begins with a snapshot.
    fn restore(&mut self, index: u64, snapshot: &Payload) {
        let text = core::str::from_utf8(snapshot.bytes()).unwrap_or_default();
        self.state = u32::from_str_radix(text, 16).unwrap_or_default();
        self.applied = index;
    }
}

impl Client for User {
    type Command = Command;
    type Event = Event;

    fn new(seat: &Seat) -> Self {
        let most = seat.times.into();
        User {
            at: seat.at,
            ticket: 0,
            asked: 0,
            most,
            waits: false,
            is_wanted: false,
            belief: Belief::Untold,
            applied: 0,
            state: 0,
        }
    }

    fn first(seat: &Seat) -> Option<Command> {
        User { belief: Belief::Me, ..User::new(seat) }.next()
    }

    fn next(&self) -> Option<Command> {
        let ticket = self.ticket + 1;
        if self.is_wanted && !self.waits {
            return Some(Command::Compact { ticket, index: self.applied, state: self.snapshot() });
        }
        let may = self.is_served() && !self.waits && self.asked < self.most;
        let appends = (self.asked + u64::from(self.at.0)).is_multiple_of(2);
        may.then(|| match appends {
            true => Command::Append { ticket, payload: self.payload(ticket) },
            false => Command::Read { ticket },
        })
    }

    fn is_counted(command: &Command) -> bool {
        !matches!(command, Command::Compact { .. })
    }

    fn asked(&mut self, command: &Command) {
        self.ticket = command.ticket();
        self.waits = true;
        match command {
            Command::Compact { .. } => self.is_wanted = false,
            _ => self.asked += 1,
        }
    }

    fn told(&mut self, event: &Event) {
        match event {
            Event::Leading { .. } => self.belief = Belief::Me,
            Event::Following { leader: Some(_), .. } => self.belief = Belief::Another,
            Event::Following { leader: None, .. } => self.belief = Belief::Nobody,
            Event::Relaying { .. } => self.belief = Belief::Relayed,
            Event::Committed { index, entry } => self.apply(*index, &entry.content),
            Event::SnapshotNeeded { .. } => self.is_wanted = true,
            Event::Restored { index, state, .. } => {
                self.restore(*index, state);
                self.is_wanted = false;
            }
            event => self.waits &= event.answers() != Some(self.ticket),
        }
    }

    /// Who comes back goes on with new tickets.
    fn crashed(&mut self) {
        (self.waits, self.is_wanted) = (false, false);
        self.belief = Belief::Untold;
        (self.applied, self.state) = (0, 0);
    }

    fn standing(&self) -> Standing {
        let lost = matches!(self.belief, Belief::Untold | Belief::Nobody);
        let waits = self.waits || (lost && self.asked < self.most);
        if waits { Standing::Waiting } else { Standing::Content }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::Service;

    #[test]
    fn a_user_asks_while_its_process_leads_and_waits_for_a_leader_otherwise() {
        let mut user =
            User::new(&Seat { service: Service::Log, at: ProcessId(0), size: 3, times: 2 });
        assert_eq!((user.next(), user.standing()), (None, Standing::Waiting));
        user.told(&Event::Following { term: 1, leader: Some(ProcessId(1)) });
        assert_eq!((user.next(), user.standing()), (None, Standing::Content));
        user.told(&Event::Leading { term: 2 });
        let append = user.next().expect("it leads");
        assert_eq!(append, Command::Append { ticket: 1, payload: Payload::new(*b"1.1") });
        user.asked(&append);
        assert_eq!((user.next(), user.standing()), (None, Standing::Waiting));
        user.told(&Event::Unknown { ticket: 1 });
        let read = Command::Read { ticket: 2 };
        assert_eq!((user.next(), user.standing()), (Some(read.clone()), Standing::Content));
        user.asked(&read);
        user.crashed();
        assert_eq!((user.next(), user.standing()), (None, Standing::Content));
    }

    #[test]
    fn a_user_asks_where_it_is_relayed() {
        let mut user =
            User::new(&Seat { service: Service::Log, at: ProcessId(1), size: 3, times: 1 });
        user.told(&Event::Relaying { term: 1, leader: ProcessId(0) });
        assert_eq!(user.next(), Some(Command::Read { ticket: 1 }));
    }
}
