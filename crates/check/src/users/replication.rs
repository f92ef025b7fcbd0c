//! Users of a replicated list.

use tenure_core::ProcessId;
use tenure_core::service::replicated_list::{Command, Event};

use crate::users::entries::RequestLimit;
use crate::users::user::{CheckableCommand, EnabledCommand, User, UserState, UserWorkload};

/// User of a replicated list. [`UserWorkload::request_limit`] is the maximum number of values that
/// it writes. It waits for the outcome of each write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReplicationUser {
    /// Next value to write. No two users write the same value, unless one of them writes more than
    /// 100 values.
    next: u64,
    left: RequestLimit,
    is_waiting: bool,
}

impl CheckableCommand for Command {
    type Event = Event;
    type User = ReplicationUser;

    fn new_user(at: ProcessId, workload: &UserWorkload) -> ReplicationUser {
        let next = u64::from(at.display_number()) * 100 + 1;
        ReplicationUser { next, left: workload.request_limit(at), is_waiting: false }
    }
}

impl User<Command> for ReplicationUser {
    fn enabled_commands(&self) -> Vec<EnabledCommand<Command>> {
        if self.is_waiting || !self.left.has_next() {
            return Vec::new();
        }
        vec![EnabledCommand::optional(Command::Write { value: self.next })]
    }

    fn on_command(&mut self, _command: &Command) {
        self.next += 1;
        self.left = self.left.after_request();
        self.is_waiting = true;
    }

    fn on_event(&mut self, event: &Event) {
        self.is_waiting &= matches!(event, Event::Serving { .. });
    }

    fn on_crash(&mut self) {
        self.is_waiting = false;
    }

    fn state(&self) -> UserState {
        if self.is_waiting { UserState::Waiting } else { UserState::Idle }
    }
}
