//! Users of an election.

use tenure_core::ProcessId;
use tenure_core::service::election::{Command, Event};

use crate::users::user::{EnabledCommand, Service, User, UserState, Workload};

/// User of an election. An initiator starts an election once, at any moment. Once a result exists,
/// every user waits for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ElectionUser {
    is_initiator: bool,
    knowledge: Knowledge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Knowledge {
    /// No event since the first boot.
    None,
    /// Requested an election, or received the deposition of the leader.
    Awaited,
    /// Knows the leader.
    Leader,
    /// Recovered from a crash, without a new request.
    Lost,
}

impl Service for Command {
    type Event = Event;
    type User = ElectionUser;

    fn user(at: ProcessId, workload: &Workload) -> ElectionUser {
        ElectionUser { is_initiator: workload.initiates(at), knowledge: Knowledge::None }
    }
}

impl User<Command> for ElectionUser {
    fn enabled_commands(&self) -> Vec<EnabledCommand<Command>> {
        if !self.is_initiator {
            return Vec::new();
        }
        vec![EnabledCommand { command: Command::Elect, is_obligatory: false }]
    }

    fn on_command(&mut self, command: &Command) {
        if *command == Command::Elect {
            self.is_initiator = false;
            self.knowledge = Knowledge::Awaited;
        }
    }

    fn on_event(&mut self, event: &Event) {
        self.knowledge = match event {
            Event::Elected { .. } => Knowledge::Leader,
            Event::Deposed { .. } => Knowledge::Awaited,
        };
    }

    fn on_crash(&mut self) {
        self.knowledge = Knowledge::Lost;
    }

    fn state(&self) -> UserState {
        match self.knowledge {
            Knowledge::None => UserState::Uninformed,
            Knowledge::Awaited => UserState::Waiting,
            Knowledge::Leader => UserState::Informed,
            Knowledge::Lost => UserState::Idle,
        }
    }
}
