//! Who has a failure detector and asks nothing of it.

use tenure_core::ProcessId;
use tenure_core::service::detector::{Command, Event};

use crate::users::user::{Offer, Service, Standing, User, Workload};

/// A user of a failure detector, who only listens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DetectorUser;

impl Service for Command {
    type Event = Event;
    type User = DetectorUser;

    fn user(_at: ProcessId, _workload: &Workload) -> DetectorUser {
        DetectorUser
    }
}

impl User<Command> for DetectorUser {
    fn offers(&self) -> Vec<Offer<Command>> {
        Vec::new()
    }

    fn asked(&mut self, command: &Command) {
        match *command {}
    }

    fn told(&mut self, _event: &Event) {}

    fn standing(&self) -> Standing {
        Standing::Content
    }
}
