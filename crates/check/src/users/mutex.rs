//! Who asks for the lock, enters and exits.

use tenure_core::ProcessId;
use tenure_core::service::mutex::{Command, Event};

use crate::users::entries::Entries;
use crate::users::user::{Offer, Service, Standing, User, Workload};

/// A user of a lock: enters as often as allowed, and always exits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MutexUser {
    place: Place,
    left: Entries,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    Outside,
    Waiting,
    Inside,
}

impl Service for Command {
    type Event = Event;
    type User = MutexUser;

    fn user(at: ProcessId, workload: &Workload) -> MutexUser {
        MutexUser { place: Place::Outside, left: workload.entries(at) }
    }
}

impl User<Command> for MutexUser {
    fn offers(&self) -> Vec<Offer<Command>> {
        match self.place {
            Place::Outside if self.left.any_left() => {
                vec![Offer { command: Command::Enter, obliged: false }]
            }
            Place::Inside => vec![Offer { command: Command::Exit, obliged: true }],
            Place::Outside | Place::Waiting => Vec::new(),
        }
    }

    fn asked(&mut self, command: &Command) {
        match command {
            Command::Enter => {
                self.left = self.left.after_one();
                self.place = Place::Waiting;
            }
            Command::Exit => self.place = Place::Outside,
        }
    }

    fn told(&mut self, event: &Event) {
        self.place = match event {
            Event::Entered { .. } => Place::Inside,
            Event::Exited => Place::Outside,
        };
    }

    fn crashed(&mut self) {
        self.place = Place::Outside;
    }

    fn standing(&self) -> Standing {
        match self.place {
            Place::Waiting => Standing::Waiting,
            Place::Outside | Place::Inside => Standing::Content,
        }
    }
}
