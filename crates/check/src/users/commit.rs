//! Who begins transactions and may be against them.

use tenure_core::ProcessId;
use tenure_core::service::commit::{Command, Event};

use crate::users::entries::Entries;
use crate::users::user::{Offer, Service, Standing, User, Workload};

/// A user of transactions: begins as many as the workload has entries, may at any moment be
/// against all that follow, and waits while its process is uncertain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CommitUser {
    left: Entries,
    is_against: bool,
    waits: bool,
}

impl Service for Command {
    type Event = Event;
    type User = CommitUser;

    fn user(at: ProcessId, workload: &Workload) -> CommitUser {
        CommitUser { left: workload.entries(at), is_against: false, waits: false }
    }
}

impl User<Command> for CommitUser {
    fn offers(&self) -> Vec<Offer<Command>> {
        let begins = self.left.any_left() && !self.waits;
        let begin = begins.then_some(Offer { command: Command::Begin, obliged: false });
        let veto = (!self.is_against).then_some(Offer { command: Command::Veto, obliged: false });
        begin.into_iter().chain(veto).collect()
    }

    fn asked(&mut self, command: &Command) {
        match command {
            Command::Begin => {
                self.left = self.left.after_one();
                self.waits = true;
            }
            Command::Veto => self.is_against = true,
        }
    }

    fn told(&mut self, event: &Event) {
        self.waits = matches!(event, Event::Prepared { .. });
    }

    fn crashed(&mut self) {
        self.waits = false;
        self.is_against = false;
    }

    fn standing(&self) -> Standing {
        if self.waits { Standing::Waiting } else { Standing::Content }
    }
}
