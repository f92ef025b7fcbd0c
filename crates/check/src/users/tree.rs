//! Users of a spanning tree.

use tenure_core::ProcessId;
use tenure_core::service::leader_tree::{Command, Event};

use crate::users::entries::RequestLimit;
use crate::users::user::{CheckableCommand, EnabledCommand, User, UserState, UserWorkload};

/// User of a spanning tree. [`UserWorkload::request_limit`] is the maximum number of trees that the
/// user requests. Once any process has joined a tree, each user waits until its process joins the
/// tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SpanningTreeUser {
    left: RequestLimit,
    has_joined: bool,
}

impl CheckableCommand for Command {
    type Event = Event;
    type User = SpanningTreeUser;

    fn new_user(at: ProcessId, workload: &UserWorkload) -> SpanningTreeUser {
        SpanningTreeUser { left: workload.request_limit(at), has_joined: false }
    }
}

impl User<Command> for SpanningTreeUser {
    fn enabled_commands(&self) -> Vec<EnabledCommand<Command>> {
        let grow = EnabledCommand::optional(Command::Grow);
        self.left.has_next().then_some(grow).into_iter().collect()
    }

    fn on_command(&mut self, _command: &Command) {
        self.left = self.left.after_request();
    }

    fn on_event(&mut self, _event: &Event) {
        self.has_joined = true;
    }

    fn on_crash(&mut self) {
        self.has_joined = false;
    }

    fn state(&self) -> UserState {
        if self.has_joined { UserState::HasCommonResult } else { UserState::LacksCommonResult }
    }
}
