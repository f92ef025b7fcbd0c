//! Who wants to be in the leader's tree.

use tenure_core::ProcessId;
use tenure_core::service::tree::{Command, Event};

use crate::users::entries::Entries;
use crate::users::user::{Offer, Service, Standing, User, Workload};

/// A user of a spanning tree: asks for another tree as often as the workload has entries. As
/// soon as anybody is in a tree, all want to be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TreeUser {
    left: Entries,
    joined: bool,
}

impl Service for Command {
    type Event = Event;
    type User = TreeUser;

    fn user(at: ProcessId, workload: &Workload) -> TreeUser {
        TreeUser { left: workload.entries(at), joined: false }
    }
}

impl User<Command> for TreeUser {
    fn offers(&self) -> Vec<Offer<Command>> {
        let grow = self.left.any_left();
        grow.then_some(Offer { command: Command::Grow, obliged: false }).into_iter().collect()
    }

    fn asked(&mut self, _command: &Command) {
        self.left = self.left.after_one();
    }

    fn told(&mut self, _event: &Event) {
        self.joined = true;
    }

    fn crashed(&mut self) {
        self.joined = false;
    }

    fn standing(&self) -> Standing {
        if self.joined { Standing::Informed } else { Standing::Uninformed }
    }
}
