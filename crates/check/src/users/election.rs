//! Users of an election.

use tenure_core::ProcessId;
use tenure_core::service::election::{Command, Event};

use crate::users::user::{CheckableCommand, EnabledCommand, User, UserState, UserWorkload};

/// User of an election. If its process is an initiator, the user may start one election, at any
/// moment. Once any process knows a leader, every user waits until its process knows the leader.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ElectionUser {
    is_initiator: bool,
    /// True if the user starts no election after it has learned of a leader.
    has_single_election: bool,
    knowledge: Knowledge,
}

/// Knowledge of a user about the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Knowledge {
    /// The user knows no leader, and has started no election.
    None,
    /// The user waits for a leader, because it has started an election or its leader was deposed.
    Awaited,
    /// The user knows a leader.
    Leader,
    /// The process has crashed. The user does not wait until it issues a command or receives an
    /// event.
    Lost,
}

impl CheckableCommand for Command {
    type Event = Event;
    type User = ElectionUser;

    fn new_user(at: ProcessId, workload: &UserWorkload) -> ElectionUser {
        ElectionUser {
            is_initiator: workload.is_initiator(at),
            has_single_election: workload.has_no_reelection(),
            knowledge: Knowledge::None,
        }
    }
}

impl User<Command> for ElectionUser {
    fn enabled_commands(&self) -> Vec<EnabledCommand<Command>> {
        if !self.is_initiator {
            return Vec::new();
        }
        vec![EnabledCommand::optional(Command::Elect)]
    }

    fn on_command(&mut self, command: &Command) {
        if *command == Command::Elect {
            self.is_initiator = false;
            self.knowledge = Knowledge::Awaited;
        }
    }

    fn on_event(&mut self, event: &Event) {
        if self.has_single_election && matches!(event, Event::Elected { .. }) {
            self.is_initiator = false;
        }
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
            Knowledge::None => UserState::LacksCommonResult,
            Knowledge::Awaited => UserState::Waiting,
            Knowledge::Leader => UserState::HasCommonResult,
            Knowledge::Lost => UserState::Idle,
        }
    }
}
