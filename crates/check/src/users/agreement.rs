//! Who uses a service of agreement: the user that comes with the service.

use tenure_core::ProcessId;
use tenure_core::service::agreement::{Client, Seat};
use tenure_core::service::{
    agreement, barrier, broadcast, consensus, log, membership, renaming, snapshot, termination,
};

use crate::users::entries::Entries;
use crate::users::user::{Offer, Service, Standing, User, Workload};

/// The user of one service, or of any of them, who asks as often as the workload has entries.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AgreementUser<U>(U);

/// How much a workload has the user of a process ask: nothing where another begins.
fn seat(at: ProcessId, workload: &Workload) -> Seat {
    let times = match workload.entries(at) {
        _ if !workload.initiates(at) => 0,
        Entries::AtMost(times) => times,
        Entries::Unbounded => u32::MAX,
    };
    Seat { service: workload.service(), at, size: workload.size(), times }
}

fn offer<C>(next: Option<C>, obliged: bool) -> Vec<Offer<C>> {
    next.map(|command| Offer { command, obliged }).into_iter().collect()
}

macro_rules! users {
    ($($service:ident),+) => {
        $(impl Service for $service::Command {
            type Event = $service::Event;
            type User = AgreementUser<$service::User>;

            fn user(at: ProcessId, workload: &Workload) -> Self::User {
                AgreementUser(Client::new(&seat(at, workload)))
            }
        })+
    };
}

users!(agreement, consensus, broadcast, snapshot, barrier, termination, membership, renaming, log);

impl<U: Client<Command: Service<Event = U::Event>>> User<U::Command> for AgreementUser<U> {
    fn offers(&self) -> Vec<Offer<U::Command>> {
        offer(self.0.next(), self.0.is_obliged())
    }

    fn asked(&mut self, command: &U::Command) {
        self.0.asked(command);
    }

    fn told(&mut self, event: &U::Event) {
        self.0.told(event);
    }

    fn crashed(&mut self) {
        self.0.crashed();
    }

    fn standing(&self) -> Standing {
        self.0.standing()
    }
}
