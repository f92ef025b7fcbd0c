//! Users of clock synchronisation, which request synchronisations and wait until the clocks of
//! their processes are adjusted.

use tenure_core::ProcessId;
use tenure_core::service::clock_synchronisation::{Command, Event};

use crate::users::entries::RequestLimit;
use crate::users::user::{CheckableCommand, EnabledCommand, User, UserState, UserWorkload};

/// User of clock synchronisation. It requests at most [`UserWorkload::request_limit`]
/// synchronisations. Once any process has adjusted its clock, each user waits until its process has
/// adjusted its clock, too.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClockUser {
    left: RequestLimit,
    is_adjusted: bool,
}

impl CheckableCommand for Command {
    type Event = Event;
    type User = ClockUser;

    fn new_user(at: ProcessId, workload: &UserWorkload) -> ClockUser {
        ClockUser { left: workload.request_limit(at), is_adjusted: false }
    }
}

impl User<Command> for ClockUser {
    fn enabled_commands(&self) -> Vec<EnabledCommand<Command>> {
        let synchronise = EnabledCommand::optional(Command::Synchronise);
        self.left.has_next().then_some(synchronise).into_iter().collect()
    }

    fn on_command(&mut self, _command: &Command) {
        self.left = self.left.after_request();
    }

    fn on_event(&mut self, event: &Event) {
        self.is_adjusted |= matches!(event, Event::Adjusted { .. });
    }

    fn on_crash(&mut self) {
        self.is_adjusted = false;
    }

    fn state(&self) -> UserState {
        if self.is_adjusted { UserState::HasCommonResult } else { UserState::LacksCommonResult }
    }
}
