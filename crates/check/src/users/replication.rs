//! Who writes, at whichever process.

use tenure_core::ProcessId;
use tenure_core::service::replication::{Command, Event};

use crate::users::entries::Entries;
use crate::users::user::{Offer, Service, Standing, User, Workload};

/// A user of a replicated list: writes as often as the workload has entries, one value after the
/// other, and waits to be told what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReplicationUser {
    /// What it writes next; no two users ever write the same.
    next: u64,
    left: Entries,
    waits: bool,
}

impl Service for Command {
    type Event = Event;
    type User = ReplicationUser;

    fn user(at: ProcessId, workload: &Workload) -> ReplicationUser {
        let next = u64::from(at.number()) * 100 + 1;
        ReplicationUser { next, left: workload.entries(at), waits: false }
    }
}

impl User<Command> for ReplicationUser {
    fn offers(&self) -> Vec<Offer<Command>> {
        if self.waits || !self.left.any_left() {
            return Vec::new();
        }
        vec![Offer { command: Command::Write { value: self.next }, obliged: false }]
    }

    fn asked(&mut self, _command: &Command) {
        self.next += 1;
        self.left = self.left.after_one();
        self.waits = true;
    }

    fn told(&mut self, event: &Event) {
        self.waits &= matches!(event, Event::Serving { .. });
    }

    fn crashed(&mut self) {
        self.waits = false;
    }

    fn standing(&self) -> Standing {
        if self.waits { Standing::Waiting } else { Standing::Content }
    }
}
