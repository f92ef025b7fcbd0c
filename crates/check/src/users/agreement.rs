//! Users of the agreement services, in checks.

use std::collections::VecDeque;

use tenure_core::ProcessId;
use tenure_core::service::user::{ServiceUser, UserModelConfig};
use tenure_core::service::{
    agreement, barrier, broadcast, consensus, drinking, forum, log, membership, renaming,
    resources, shares, snapshot, spanning_tree, termination, wave,
};

use crate::users::entries::RequestLimit;
use crate::users::user::{CheckableCommand, EnabledCommand, User, UserState, UserWorkload};

/// User of an agreement service. If there is a schedule, the user issues the commands of the
/// schedule. Without a schedule, the user issues at most [`UserWorkload::request_limit`] commands.
/// If its process is not an initiator, it issues none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AgreementUser<U> {
    user: U,
    /// Commands of the schedule that this user has not issued yet. `None` if the check follows no
    /// schedule.
    #[expect(clippy::box_collection, reason = "searches store millions of users with no schedule")]
    schedule: Option<Box<VecDeque<agreement::Command>>>,
}

/// Returns the parameters of the user of process `at`. If the process is not an initiator, the
/// number of commands is 0.
fn user_config(at: ProcessId, workload: &UserWorkload) -> UserModelConfig {
    let times = match workload.request_limit(at) {
        _ if !workload.is_initiator(at) => 0,
        RequestLimit::AtMost(times) => times,
        RequestLimit::Unbounded => u32::MAX,
    };
    UserModelConfig { service: workload.service(), at, size: workload.size(), work_count: times }
}

fn enabled<C>(next: Option<C>, is_obligatory: bool) -> Vec<EnabledCommand<C>> {
    next.map(|command| EnabledCommand { command, is_obligatory }).into_iter().collect()
}

macro_rules! users {
    ($($service:ident),+) => {
        $(impl CheckableCommand for $service::Command {
            type Event = $service::Event;
            type User = AgreementUser<$service::User>;

            fn new_user(at: ProcessId, workload: &UserWorkload) -> Self::User {
                let schedule = workload.schedule(at).map(|schedule| Box::new(schedule.into()));
                AgreementUser { user: ServiceUser::new(&user_config(at, workload)), schedule }
            }
        })+
    };
}

users!(
    agreement,
    consensus,
    broadcast,
    snapshot,
    barrier,
    termination,
    membership,
    renaming,
    log,
    wave,
    spanning_tree,
    drinking,
    forum,
    resources,
    shares
);

impl<U> User<U::Command> for AgreementUser<U>
where
    U: ServiceUser<Command: CheckableCommand<Event = U::Event> + TryFrom<agreement::Command>>,
{
    fn enabled_commands(&self) -> Vec<EnabledCommand<U::Command>> {
        let Some(schedule) = &self.schedule else {
            return enabled(self.user.next_command(), self.user.must_issue_command());
        };
        let next = schedule.front().filter(|_| !self.user.must_wait()).cloned();
        enabled(next.and_then(|command| command.try_into().ok()), false)
    }

    fn on_command(&mut self, command: &U::Command) {
        if let Some(schedule) = &mut self.schedule {
            schedule.pop_front();
        }
        self.user.on_command(command);
    }

    fn on_event(&mut self, event: &U::Event) {
        self.user.on_event(event);
    }

    fn on_crash(&mut self) {
        self.user.on_crash();
    }

    fn state(&self) -> UserState {
        self.user.state()
    }
}
