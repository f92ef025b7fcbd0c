//! Users: the commands that they may issue, and whether they wait.

use std::fmt::Debug;
use std::hash::Hash;

use tenure_core::service::agreement;
pub use tenure_core::service::agreement::UserState;
use tenure_core::{ProcessId, Protocol};
use tenure_trace::{Recorded, ServiceCommand, ServiceEvent};

use crate::users::entries::Entries;

/// Commands of a service and their use by the checker.
///
/// Implemented for the commands of every service of `tenure-core`. A protocol with its own commands
/// implements it for them: see `examples/03_check.rs`.
pub trait Service: ServiceCommand + Eq + Hash + Send + Sync {
    /// Event that the service reports to its user.
    type Event: ServiceEvent + Clone + Debug + Eq + Hash + Send + Sync + 'static;
    /// User of one process.
    type User: User<Self>;

    /// Creates the user of the process `at`, who issues commands according to the workload.
    fn user(at: ProcessId, workload: &Workload) -> Self::User;
}

/// A protocol with a service that the checker can drive.
pub trait Checkable:
    Recorded + Protocol<Command: Service<Event = <Self as Protocol>::Event>>
{
}

impl<P: Recorded + Protocol<Command: Service<Event = <P as Protocol>::Event>>> Checkable for P {}

/// How often users issue commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    pub(crate) entries: Vec<Entries>,
    pub(crate) initiators: Vec<ProcessId>,
    pub(crate) size: u32,
    pub(crate) service: tenure_core::Service,
    /// Commands of the users of an agreement service, in index of their own, if a schedule gives
    /// them.
    pub(crate) schedule: Option<Vec<(ProcessId, agreement::Command)>>,
}

impl Workload {
    /// Returns the commands of the user of `at` in the schedule, in order, or `None` without a
    /// schedule.
    pub(crate) fn schedule(&self, at: ProcessId) -> Option<Vec<agreement::Command>> {
        let mine = self.schedule.as_ref()?.iter().filter(|(whose, _)| *whose == at);
        Some(mine.map(|(_, command)| command.clone()).collect())
    }

    /// Returns how often the user of `at` requests to enter, or uses the service otherwise.
    pub fn entries(&self, at: ProcessId) -> Entries {
        self.entries[at.index()]
    }

    /// Returns true if the user of `at` starts an election.
    pub fn initiates(&self, at: ProcessId) -> bool {
        self.initiators.contains(&at)
    }

    /// Returns the number of processes.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Returns the service, for command types that several services share.
    pub fn service(&self) -> tenure_core::Service {
        self.service
    }
}

/// User of one process: an automaton over the commands issued and the events received.
pub trait User<C: Service>: Clone + Debug + Eq + Hash + Send + Sync + 'static {
    /// Returns the commands that the user may issue now.
    fn enabled_commands(&self) -> Vec<EnabledCommand<C>>;

    /// Updates the user after it issued a command.
    fn on_command(&mut self, command: &C);

    /// Updates the user after it received an event.
    fn on_event(&mut self, event: &C::Event);

    /// Updates the user after a crash of its process.
    fn on_crash(&mut self) {}

    /// Updates the user after its process booted again.
    fn on_recovery(&mut self) {}

    /// Returns whether the user waits.
    fn state(&self) -> UserState;
}

/// A command that a user may issue now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnabledCommand<C> {
    /// Command that the user may issue.
    pub command: C,
    /// True if the user must eventually issue the command (to exit, for instance). False if it may
    /// never do so (to request).
    pub is_obligatory: bool,
}

impl<C> EnabledCommand<C> {
    /// Converts the command to one of a combined service.
    pub(crate) fn of<D>(self, whole: impl FnOnce(C) -> D) -> EnabledCommand<D> {
        EnabledCommand { command: whole(self.command), is_obligatory: self.is_obligatory }
    }
}
