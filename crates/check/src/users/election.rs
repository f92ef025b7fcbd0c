//! Who starts an election and waits for its result.

use tenure_core::ProcessId;
use tenure_core::service::election::{Command, Event};

use crate::users::user::{Offer, Service, Standing, User, Workload};

/// A user of an election: an initiator starts one, once and at any moment; everybody wants to
/// know the result as soon as there is one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ElectionUser {
    initiates: bool,
    knowledge: Knowledge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Knowledge {
    /// Told nothing since the first boot.
    None,
    /// Asked and not yet told, or told that the leader is gone.
    Awaited,
    /// Told.
    Leader,
    /// Came back from a crash and has not asked since.
    Lost,
}

impl Service for Command {
    type Event = Event;
    type User = ElectionUser;

    fn user(at: ProcessId, workload: &Workload) -> ElectionUser {
        ElectionUser { initiates: workload.initiates(at), knowledge: Knowledge::None }
    }
}

impl User<Command> for ElectionUser {
    fn offers(&self) -> Vec<Offer<Command>> {
        if !self.initiates {
            return Vec::new();
        }
        vec![Offer { command: Command::Elect, obliged: false }]
    }

    fn asked(&mut self, command: &Command) {
        if *command == Command::Elect {
            self.initiates = false;
            self.knowledge = Knowledge::Awaited;
        }
    }

    fn told(&mut self, event: &Event) {
        self.knowledge = match event {
            Event::Elected { .. } => Knowledge::Leader,
            Event::Deposed { .. } => Knowledge::Awaited,
        };
    }

    fn crashed(&mut self) {
        self.knowledge = Knowledge::Lost;
    }

    fn standing(&self) -> Standing {
        match self.knowledge {
            Knowledge::None => Standing::Uninformed,
            Knowledge::Awaited => Standing::Waiting,
            Knowledge::Leader => Standing::Informed,
            Knowledge::Lost => Standing::Content,
        }
    }
}
