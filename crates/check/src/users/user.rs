//! Models of users for the checker. A model determines which commands the user may issue, and
//! whether the user waits.

use std::fmt::Debug;
use std::hash::Hash;

use tenure_core::service::agreement;
pub use tenure_core::service::user::UserState;
use tenure_core::{ProcessId, Protocol};
use tenure_trace::{RecordableProtocol, ServiceCommand, ServiceEvent};

use crate::users::entries::RequestLimit;

/// Commands of a service, with a model of the users that issue them.
///
/// Implemented for the commands of every service of `tenure-core`. A protocol with its own commands
/// implements this trait for them: see `examples/03_check.rs`.
pub trait CheckableCommand: ServiceCommand + Eq + Hash + Send + Sync {
    /// Event that the service reports to its user.
    type Event: ServiceEvent + Clone + Debug + Eq + Hash + Send + Sync + 'static;
    /// Model of the user of one process.
    type User: User<Self>;

    /// Returns true if the search may delay this event, so that the user receives it in a later
    /// step. The delay must not make a run less safe or less live. For instance, an entry may be
    /// delayed, because the user then stays inside the critical section for a shorter time. The
    /// default is false for every event.
    fn may_postpone(event: &Self::Event) -> bool {
        let _ = event;
        false
    }

    /// Creates the user of the process `at`. The user issues commands according to the workload.
    fn new_user(at: ProcessId, workload: &UserWorkload) -> Self::User;
}

/// A protocol that the checker can run. The trait is implemented for every protocol that can be
/// recorded in a trace and whose commands implement [`CheckableCommand`].
pub trait Checkable:
    RecordableProtocol + Protocol<Command: CheckableCommand<Event = <Self as Protocol>::Event>>
{
}

impl<P: RecordableProtocol + Protocol<Command: CheckableCommand<Event = <P as Protocol>::Event>>>
    Checkable for P
{
}

/// Commands that the users may issue: how many requests each user may issue, and which users may
/// start elections or use an agreement service. May also prescribe a schedule of commands to an
/// agreement service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserWorkload {
    pub(crate) entries: Vec<RequestLimit>,
    pub(crate) initiators: Vec<ProcessId>,
    pub(crate) has_single_election: bool,
    pub(crate) size: u32,
    pub(crate) service: tenure_core::Service,
    /// Schedule of an agreement service that the check follows. Each element has a process, and a
    /// command that the user of this process issues. `None` if the check follows no schedule.
    pub(crate) schedule: Option<Vec<(ProcessId, agreement::Command)>>,
}

impl UserWorkload {
    /// Returns the scheduled commands of the user of process `at`, in order. Returns `None` if the
    /// check follows no schedule.
    pub(crate) fn schedule(&self, at: ProcessId) -> Option<Vec<agreement::Command>> {
        let mine = self.schedule.as_ref()?.iter().filter(|(whose, _)| *whose == at);
        Some(mine.map(|(_, command)| command.clone()).collect())
    }

    /// Returns the number of times that the user of `at` may request to enter. If the service is
    /// not a lock, returns the number of times that the user may use the service.
    pub fn request_limit(&self, at: ProcessId) -> RequestLimit {
        self.entries[at.index()]
    }

    /// Returns true if the user of `at` may start an election, or may use an agreement service.
    pub fn is_initiator(&self, at: ProcessId) -> bool {
        self.initiators.contains(&at)
    }

    /// Returns true if a user starts no election after the user has learned of a leader.
    pub fn has_no_reelection(&self) -> bool {
        self.has_single_election
    }

    /// Returns the number of processes.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Returns the service. Several services share one type of commands, so this type does not
    /// determine the service.
    pub fn service(&self) -> tenure_core::Service {
        self.service
    }
}

/// Model of the user of one process: an automaton that issues commands and receives events.
pub trait User<C: CheckableCommand>: Clone + Debug + Eq + Hash + Send + Sync + 'static {
    /// Returns the commands that the user may issue now.
    fn enabled_commands(&self) -> Vec<EnabledCommand<C>>;

    /// Updates the user after it issued a command.
    fn on_command(&mut self, command: &C);

    /// Updates the user after it received an event.
    fn on_event(&mut self, event: &C::Event);

    /// Returns true if the user will issue no further request. The user may still hold a lock, and
    /// exit later. The default is false.
    fn has_finished(&self) -> bool {
        false
    }

    /// Updates the user after a crash of its process. Does nothing by default.
    fn on_crash(&mut self) {}

    /// Updates the user after its process has recovered from a crash. Does nothing by default.
    fn on_recovery(&mut self) {}

    /// Returns the state of the user: whether it waits, and for what.
    fn state(&self) -> UserState;
}

/// A command that a user may issue now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnabledCommand<C> {
    /// Command that the user may issue.
    pub command: C,
    /// True if the user must eventually issue the command, such as an exit. False if the user need
    /// not issue it, such as a request.
    pub is_obligatory: bool,
}

impl<C> EnabledCommand<C> {
    /// Creates an enabled command that the user need not issue.
    pub(crate) const fn optional(command: C) -> Self {
        EnabledCommand { command, is_obligatory: false }
    }

    /// Wraps this command in a command of a protocol that combines two services. `whole` converts
    /// the command to the type of the combined protocol.
    pub(crate) fn map<D>(self, whole: impl FnOnce(C) -> D) -> EnabledCommand<D> {
        EnabledCommand { command: whole(self.command), is_obligatory: self.is_obligatory }
    }
}
