//! Users of a spanning tree.

use tenure_core::ProcessId;
use tenure_core::service::tree::{Command, Event};

use crate::users::entries::Entries;
use crate::users::user::{EnabledCommand, Service, User, UserState, Workload};

/// User of a spanning tree. [`Workload::entries`] is the maximum number of trees that the user
/// requests. Once any process has joined a tree, each user waits until its process joins the tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SpanningTreeUser {
    left: Entries,
    has_joined: bool,
}

impl Service for Command {
    type Event = Event;
    type User = SpanningTreeUser;

    fn user(at: ProcessId, workload: &Workload) -> SpanningTreeUser {
        SpanningTreeUser { left: workload.entries(at), has_joined: false }
    }
}

impl User<Command> for SpanningTreeUser {
    fn enabled_commands(&self) -> Vec<EnabledCommand<Command>> {
        let grow = EnabledCommand::optional(Command::Grow);
        self.left.has_next().then_some(grow).into_iter().collect()
    }

    fn on_command(&mut self, _command: &Command) {
        self.left = self.left.decrement();
    }

    fn on_event(&mut self, _event: &Event) {
        self.has_joined = true;
    }

    fn on_crash(&mut self) {
        self.has_joined = false;
    }

    fn state(&self) -> UserState {
        if self.has_joined { UserState::Informed } else { UserState::Uninformed }
    }
}
