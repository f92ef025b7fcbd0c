//! Users of a failure detector.

use tenure_core::ProcessId;
use tenure_core::service::detector::{Command, Event};

use crate::users::user::{CheckableCommand, EnabledCommand, User, UserState, UserWorkload};

/// User of a failure detector. It issues no commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DetectorUser;

impl CheckableCommand for Command {
    type Event = Event;
    type User = DetectorUser;

    fn new_user(_at: ProcessId, _workload: &UserWorkload) -> DetectorUser {
        DetectorUser
    }
}

impl User<Command> for DetectorUser {
    fn enabled_commands(&self) -> Vec<EnabledCommand<Command>> {
        Vec::new()
    }

    fn on_command(&mut self, command: &Command) {
        match *command {}
    }

    fn on_event(&mut self, _event: &Event) {}

    fn state(&self) -> UserState {
        UserState::Idle
    }
}
