//! Who uses an application of a leader, and the election beneath it.

use tenure_core::ProcessId;
use tenure_core::service::election;
use tenure_core::service::led::{Command, Event};

use super::ElectionUser;
use crate::users::user::{Offer, Service, Standing, User, Workload};

/// A user of both at once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LedUser<U> {
    application: U,
    election: ElectionUser,
}

impl<C: Service> Service for Command<C> {
    type Event = Event<C::Event>;
    type User = LedUser<C::User>;

    fn user(at: ProcessId, workload: &Workload) -> Self::User {
        LedUser {
            application: C::user(at, workload),
            election: election::Command::user(at, workload),
        }
    }

    fn words(&self) -> String {
        match self {
            Command::Application(command) => command.words(),
            Command::Election(command) => command.words(),
        }
    }

    fn told(event: &Self::Event) -> Option<String> {
        match event {
            Event::Application(event) => C::told(event),
            Event::Election(event) => election::Command::told(event),
        }
    }
}

impl<C: Service> User<Command<C>> for LedUser<C::User> {
    fn offers(&self) -> Vec<Offer<Command<C>>> {
        let application = self.application.offers().into_iter();
        let election = self.election.offers().into_iter();
        let application = application.map(|offer| Offer {
            command: Command::Application(offer.command),
            obliged: offer.obliged,
        });
        let election = election.map(|offer| Offer {
            command: Command::Election(offer.command),
            obliged: offer.obliged,
        });
        application.chain(election).collect()
    }

    fn asked(&mut self, command: &Command<C>) {
        match command {
            Command::Application(command) => self.application.asked(command),
            Command::Election(command) => self.election.asked(command),
        }
    }

    fn told(&mut self, event: &Event<C::Event>) {
        match event {
            Event::Application(event) => self.application.told(event),
            Event::Election(event) => self.election.told(event),
        }
    }

    fn crashed(&mut self) {
        self.application.crashed();
        self.election.crashed();
    }

    fn recovered(&mut self) {
        self.application.recovered();
        self.election.recovered();
    }

    /// How it stands towards the application; elections are judged by themselves.
    fn standing(&self) -> Standing {
        self.application.standing()
    }
}
