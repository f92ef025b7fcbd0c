//! Users of atomic commitment.

use tenure_core::ProcessId;
use tenure_core::service::commit::{Command, Event};

use crate::users::entries::RequestLimit;
use crate::users::user::{CheckableCommand, EnabledCommand, User, UserState, UserWorkload};

/// User of transactions. It begins at most [`UserWorkload::request_limit`] transactions. Once, at
/// any moment, it may decide to veto all later transactions. A crash of its process revokes the
/// veto. The user waits while its process does not know the decision on a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CommitUser {
    left: RequestLimit,
    is_against: bool,
    is_waiting: bool,
}

impl CheckableCommand for Command {
    type Event = Event;
    type User = CommitUser;

    fn new_user(at: ProcessId, workload: &UserWorkload) -> CommitUser {
        CommitUser { left: workload.request_limit(at), is_against: false, is_waiting: false }
    }
}

impl User<Command> for CommitUser {
    fn enabled_commands(&self) -> Vec<EnabledCommand<Command>> {
        let begins = self.left.has_next() && !self.is_waiting;
        let begin = begins.then_some(EnabledCommand::optional(Command::Begin));
        let veto = (!self.is_against).then_some(EnabledCommand::optional(Command::Veto));
        begin.into_iter().chain(veto).collect()
    }

    fn on_command(&mut self, command: &Command) {
        match command {
            Command::Begin => {
                self.left = self.left.after_request();
                self.is_waiting = true;
            }
            Command::Veto => self.is_against = true,
        }
    }

    fn on_event(&mut self, event: &Event) {
        self.is_waiting = matches!(event, Event::Prepared { .. });
    }

    fn on_crash(&mut self) {
        self.is_waiting = false;
        self.is_against = false;
    }

    fn state(&self) -> UserState {
        if self.is_waiting { UserState::Waiting } else { UserState::Idle }
    }
}
