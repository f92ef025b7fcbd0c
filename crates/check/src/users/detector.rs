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

    fn words(&self) -> String {
        match *self {}
    }

    fn told(event: &Event) -> Option<String> {
        Some(match event.verdict {
            tenure_core::Verdict::Suspect => format!("suspects {}", event.peer),
            tenure_core::Verdict::Trust => format!("trusts {}", event.peer),
        })
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
