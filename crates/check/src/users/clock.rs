//! Who wants the clocks brought together.

use tenure_core::ProcessId;
use tenure_core::service::clock::{Command, Event};

use crate::users::entries::Entries;
use crate::users::user::{Offer, Service, Standing, User, Workload};

/// A user of clocks: asks to bring them together as often as the workload has entries. As soon
/// as anybody's clock was adjusted, all want theirs to be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClockUser {
    left: Entries,
    adjusted: bool,
}

impl Service for Command {
    type Event = Event;
    type User = ClockUser;

    fn user(at: ProcessId, workload: &Workload) -> ClockUser {
        ClockUser { left: workload.entries(at), adjusted: false }
    }
}

impl User<Command> for ClockUser {
    fn offers(&self) -> Vec<Offer<Command>> {
        let asks = self.left.any_left();
        asks.then_some(Offer { command: Command::Synchronise, obliged: false })
            .into_iter()
            .collect()
    }

    fn asked(&mut self, _command: &Command) {
        self.left = self.left.after_one();
    }

    fn told(&mut self, event: &Event) {
        self.adjusted |= matches!(event, Event::Adjusted { .. });
    }

    fn crashed(&mut self) {
        self.adjusted = false;
    }

    fn standing(&self) -> Standing {
        if self.adjusted { Standing::Informed } else { Standing::Uninformed }
    }
}
