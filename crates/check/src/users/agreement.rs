//! Who uses a service of agreement: the user that comes with the service, or whoever a course is
//! about.

use std::collections::VecDeque;

use tenure_core::ProcessId;
use tenure_core::service::agreement::{Client, Seat};
use tenure_core::service::{
    agreement, barrier, broadcast, consensus, log, membership, renaming, snapshot, termination,
};

use crate::users::entries::Entries;
use crate::users::user::{Offer, Service, Standing, User, Workload};

/// The user of one service, or of any of them, who asks as often as the workload has entries; along
/// a course, for what that says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AgreementUser<U> {
    user: U,
    /// What a course has it ask, the next one first.
    #[expect(clippy::box_collection, reason = "searches have none, and keep millions of users")]
    course: Option<Box<VecDeque<agreement::Command>>>,
}

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
                let course = workload.course(at).map(|course| Box::new(course.into()));
                AgreementUser { user: Client::new(&seat(at, workload)), course }
            }
        })+
    };
}

users!(agreement, consensus, broadcast, snapshot, barrier, termination, membership, renaming, log);

impl<U> User<U::Command> for AgreementUser<U>
where
    U: Client<Command: Service<Event = U::Event> + TryFrom<agreement::Command>>,
{
    fn offers(&self) -> Vec<Offer<U::Command>> {
        let Some(course) = &self.course else {
            return offer(self.user.next(), self.user.is_obliged());
        };
        let next = course.front().filter(|_| !self.user.must_wait()).cloned();
        offer(next.and_then(|command| command.try_into().ok()), false)
    }

    fn asked(&mut self, command: &U::Command) {
        if let Some(course) = &mut self.course {
            course.pop_front();
        }
        self.user.asked(command);
    }

    fn told(&mut self, event: &U::Event) {
        self.user.told(event);
    }

    fn crashed(&mut self) {
        self.user.crashed();
    }

    fn standing(&self) -> Standing {
        self.user.standing()
    }
}
