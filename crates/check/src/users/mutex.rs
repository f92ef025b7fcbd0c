//! Users of a lock.

use tenure_core::ProcessId;
use tenure_core::service::mutex::{Command, Event};

use crate::users::entries::RequestLimit;
use crate::users::user::{CheckableCommand, EnabledCommand, User, UserState, UserWorkload};

/// User of a lock. It issues at most [`UserWorkload::request_limit`] requests, and always exits
/// after an entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MutexUser {
    position: Position,
    left: RequestLimit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Position {
    Outside,
    Waiting,
    Inside,
}

impl CheckableCommand for Command {
    type Event = Event;
    type User = MutexUser;

    fn may_postpone(event: &Event) -> bool {
        matches!(event, Event::Entered { .. })
    }

    fn new_user(at: ProcessId, workload: &UserWorkload) -> MutexUser {
        MutexUser { position: Position::Outside, left: workload.request_limit(at) }
    }
}

impl User<Command> for MutexUser {
    fn enabled_commands(&self) -> Vec<EnabledCommand<Command>> {
        match self.position {
            Position::Outside if self.left.has_next() => {
                vec![EnabledCommand::optional(Command::Enter)]
            }
            Position::Inside => {
                vec![EnabledCommand { command: Command::Exit, is_obligatory: true }]
            }
            Position::Outside | Position::Waiting => Vec::new(),
        }
    }

    fn on_command(&mut self, command: &Command) {
        match command {
            Command::Enter => {
                self.left = self.left.after_request();
                self.position = Position::Waiting;
            }
            Command::Exit => self.position = Position::Outside,
        }
    }

    fn on_event(&mut self, event: &Event) {
        self.position = match event {
            Event::Entered { .. } => Position::Inside,
            Event::Exited => Position::Outside,
        };
    }

    fn has_finished(&self) -> bool {
        !self.left.has_next()
    }

    fn on_crash(&mut self) {
        self.position = Position::Outside;
    }

    fn state(&self) -> UserState {
        match self.position {
            Position::Waiting => UserState::Waiting,
            Position::Outside | Position::Inside => UserState::Idle,
        }
    }
}
