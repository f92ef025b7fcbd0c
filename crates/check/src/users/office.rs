//! Who uses a lock and an election of one protocol.

use tenure_core::ProcessId;
use tenure_core::service::office::{Command, Event};
use tenure_core::service::{election, mutex};

use super::{ElectionUser, MutexUser};
use crate::users::user::{Offer, Service, Standing, User, Workload};

/// A user of both services at once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OfficeUser {
    lock: MutexUser,
    election: ElectionUser,
}

impl Service for Command {
    type Event = Event;
    type User = OfficeUser;

    fn user(at: ProcessId, workload: &Workload) -> OfficeUser {
        OfficeUser {
            lock: mutex::Command::user(at, workload),
            election: election::Command::user(at, workload),
        }
    }

    fn words(&self) -> String {
        match self {
            Command::Mutex(command) => command.words(),
            Command::Election(command) => command.words(),
        }
    }

    fn told(event: &Event) -> Option<String> {
        match event {
            Event::Mutex(event) => mutex::Command::told(event),
            Event::Election(event) => election::Command::told(event),
        }
    }
}

impl User<Command> for OfficeUser {
    fn offers(&self) -> Vec<Offer<Command>> {
        let lock = self.lock.offers().into_iter();
        let election = self.election.offers().into_iter();
        let lock = lock
            .map(|offer| Offer { command: Command::Mutex(offer.command), obliged: offer.obliged });
        lock.chain(election.map(|offer| Offer {
            command: Command::Election(offer.command),
            obliged: offer.obliged,
        }))
        .collect()
    }

    fn asked(&mut self, command: &Command) {
        match command {
            Command::Mutex(command) => self.lock.asked(command),
            Command::Election(command) => self.election.asked(command),
        }
    }

    fn told(&mut self, event: &Event) {
        match event {
            Event::Mutex(event) => self.lock.told(event),
            Event::Election(event) => self.election.told(event),
        }
    }

    fn crashed(&mut self) {
        self.lock.crashed();
        self.election.crashed();
    }

    fn standing(&self) -> Standing {
        match self.lock.standing() {
            Standing::Waiting => Standing::Waiting,
            _ => self.election.standing(),
        }
    }
}
