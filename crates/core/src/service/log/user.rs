//! Who appends to a log and reads it.

use alloc::format;

use super::{Command, Event, Payload};
use crate::process::ProcessId;
use crate::service::agreement::{Client, Seat, Standing};

/// A user of a log: appends and reads in turn while its process leads, one after the other, and
/// otherwise waits until it knows who leads. Every other process has one that begins with a read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct User {
    at: ProcessId,
    /// The last ticket.
    ticket: u64,
    most: u64,
    /// Whether that is yet to be answered.
    waits: bool,
    belief: Belief,
}

/// Who leads, as far as this user was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Belief {
    /// It was told nothing in this life.
    Untold,
    Nobody,
    Me,
    Another,
}

impl User {
    /// What it appends under a ticket: no two payloads are the same.
    fn payload(&self, ticket: u64) -> Payload {
        let text = format!("{}.{ticket}", self.at.number());
        Payload::new(text.as_bytes())
    }
}

impl Client for User {
    type Command = Command;
    type Event = Event;

    fn new(seat: &Seat) -> Self {
        let most = seat.times.into();
        User { at: seat.at, ticket: 0, most, waits: false, belief: Belief::Untold }
    }

    fn first(seat: &Seat) -> Option<Command> {
        User { belief: Belief::Me, ..User::new(seat) }.next()
    }

    fn next(&self) -> Option<Command> {
        let may = self.belief == Belief::Me && !self.waits && self.ticket < self.most;
        let ticket = self.ticket + 1;
        let appends = (ticket + u64::from(self.at.0)) % 2 == 1;
        may.then(|| match appends {
            true => Command::Append { ticket, payload: self.payload(ticket) },
            false => Command::Read { ticket },
        })
    }

    fn asked(&mut self, command: &Command) {
        self.ticket = command.ticket();
        self.waits = true;
    }

    fn told(&mut self, event: &Event) {
        match event {
            Event::Leading { .. } => self.belief = Belief::Me,
            Event::Following { leader: Some(_), .. } => self.belief = Belief::Another,
            Event::Following { leader: None, .. } => self.belief = Belief::Nobody,
            event => self.waits &= event.answers() != Some(self.ticket),
        }
    }

    /// Who comes back goes on with new tickets.
    fn crashed(&mut self) {
        self.waits = false;
        self.belief = Belief::Untold;
    }

    fn standing(&self) -> Standing {
        let lost = matches!(self.belief, Belief::Untold | Belief::Nobody);
        let waits = self.waits || (lost && self.ticket < self.most);
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
}
