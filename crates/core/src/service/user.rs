//! Interface of user models, which issue the commands of a workload to a service.

use core::fmt;
use core::hash::Hash;

use crate::card::Service;
use crate::process::ProcessId;

/// State of a user of a service: whether the user waits for a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserState {
    /// The user does not wait for a result.
    Idle,
    /// The user has issued a command and waits for its result.
    Waiting,
    /// The user has received a result that all users must receive, such as the edges of a spanning
    /// tree. As soon as one user is in this state, all users in the state
    /// [`UserState::LacksCommonResult`] wait for the result.
    HasCommonResult,
    /// The user has not received a result that all users must receive. The user waits for this
    /// result as soon as another user is in the state [`UserState::HasCommonResult`].
    LacksCommonResult,
}

/// Parameters of a user model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserModelConfig {
    /// Service of the user. Only [`agreement::User`](super::agreement::User), the type for the
    /// users of all agreement services, reads this field.
    pub service: Service,
    /// Process of the user.
    pub at: ProcessId,
    /// Number of processes.
    pub size: u32,
    /// Amount of work of the user, in a unit that the user model defines: commands, sessions or
    /// rounds. If 0, the user begins no work. A model may do less, for example if a process
    /// proposes only once. Commands that answer a request of the service, such as a snapshot of a
    /// log, do not count.
    pub work_count: u32,
}

/// A model of the user of a service at one process: an automaton over the user's commands and
/// events. A workload issues the commands that the model returns.
pub trait ServiceUser: Clone + fmt::Debug + Eq + Hash + Send + Sync + 'static {
    /// Commands of the user.
    type Command;
    /// Events that the user receives.
    type Event;

    /// True if all users request one common result, such as a decision. False if each user requests
    /// results of its own.
    const IS_COLLECTIVE: bool = false;

    /// True if users use something for a time, such as a resource. False if
    /// [`is_using`](Self::is_using) never returns true.
    const HAS_HOLD_TIME: bool = false;

    /// Creates the user in its initial state: it has issued no command.
    fn new(config: &UserModelConfig) -> Self;

    /// Returns the first command, or `None` if the user never issues one. The user may have to
    /// receive an event before it can issue the command.
    fn first_command(config: &UserModelConfig) -> Option<Self::Command> {
        Self::new(config).next_command()
    }

    /// Returns the next command, or `None` if the user cannot issue one now.
    fn next_command(&self) -> Option<Self::Command>;

    /// Returns true if `command` requests an agreement. Only such commands are counted, because the
    /// cost of a service is stated per agreement.
    fn requests_agreement(command: &Self::Command) -> bool {
        let _ = command;
        true
    }

    /// Returns true if the user must eventually issue its next command, because other users depend
    /// on it.
    fn must_issue_command(&self) -> bool {
        false
    }

    /// Returns true if the user is using something, such as a resource. The user then pauses before
    /// its next command, for a time that the workload determines. Returns false if the user only
    /// holds a resource without using it.
    fn is_using(&self) -> bool {
        false
    }

    /// Returns true if the user must receive an event before any command is allowed at this
    /// process.
    fn must_wait(&self) -> bool {
        false
    }

    /// Records a command that the user issued.
    fn on_command(&mut self, command: &Self::Command);

    /// Records an event that the user received.
    fn on_event(&mut self, event: &Self::Event);

    /// Records a crash of the user's process.
    fn on_crash(&mut self) {}

    /// Returns the state of the user.
    fn state(&self) -> UserState;
}
