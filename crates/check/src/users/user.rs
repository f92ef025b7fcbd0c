//! Users: what may be asked of a process, when, and whether its user waits.

use std::fmt::Debug;
use std::hash::Hash;

use tenure_core::service::agreement;
pub use tenure_core::service::agreement::Standing;
use tenure_core::{ProcessId, Protocol};
use tenure_trace::{Heard, Recorded, Spoken};

use crate::users::entries::Entries;

/// The commands of a service, and how the checker is to use them.
///
/// Implemented for the commands of every service of `tenure-core`. A protocol of your own with
/// commands of its own implements it for them: see `examples/03_check.rs`.
pub trait Service: Spoken + Eq + Hash + Send + Sync {
    /// What the user is told.
    type Event: Heard + Clone + Debug + Eq + Hash + Send + Sync + 'static;
    /// The user of one process.
    type User: User<Self>;

    /// The user of the process `at`, who asks as often as the workload says.
    fn user(at: ProcessId, workload: &Workload) -> Self::User;
}

/// A protocol whose users the checker knows.
pub trait Checkable:
    Recorded + Protocol<Command: Service<Event = <Self as Protocol>::Event>>
{
}

impl<P: Recorded + Protocol<Command: Service<Event = <P as Protocol>::Event>>> Checkable for P {}

/// How often users ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    entries: Vec<Entries>,
    initiators: Vec<ProcessId>,
    size: u32,
    service: tenure_core::Service,
    /// What is asked of services of agreement in their users' stead, where a course says so.
    course: Option<Vec<(ProcessId, agreement::Command)>>,
}

impl Workload {
    pub(crate) fn new(
        size: u32,
        entries: Vec<Entries>,
        initiators: Vec<ProcessId>,
        service: tenure_core::Service,
    ) -> Self {
        Workload { entries, initiators, size, service, course: None }
    }

    /// The same where users of agreements ask for what a course says, and nothing else.
    pub(crate) fn along(self, course: Option<Vec<(ProcessId, agreement::Command)>>) -> Self {
        Workload { course, ..self }
    }

    /// What a course has the user of `at` ask, in order; `None` where there is no course.
    pub(crate) fn course(&self, at: ProcessId) -> Option<Vec<agreement::Command>> {
        let mine = self.course.as_ref()?.iter().filter(|(whose, _)| *whose == at);
        Some(mine.map(|(_, command)| command.clone()).collect())
    }

    /// How often the user of `at` asks to enter (or does whatever the service is for).
    pub fn entries(&self, at: ProcessId) -> Entries {
        self.entries[at.index()]
    }

    /// Whether the user of `at` starts an election.
    pub fn initiates(&self, at: ProcessId) -> bool {
        self.initiators.contains(&at)
    }

    /// How many processes there are.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Which service it is, of those that the types of commands do not tell apart.
    pub fn service(&self) -> tenure_core::Service {
        self.service
    }
}

/// One local user: an automaton over what was asked and told at one process.
pub trait User<C: Service>: Clone + Debug + Eq + Hash + Send + Sync + 'static {
    /// What may be asked now.
    fn offers(&self) -> Vec<Offer<C>>;

    /// This was asked.
    fn asked(&mut self, command: &C);

    /// This was told.
    fn told(&mut self, event: &C::Event);

    /// The process crashed.
    fn crashed(&mut self) {}

    /// The process booted again.
    fn recovered(&mut self) {}

    /// How the user stands.
    fn standing(&self) -> Standing;
}

/// A command that a user may give now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer<C> {
    /// What is asked.
    pub command: C,
    /// Whether the user is bound to give it in the end (to exit, for instance), or may as well
    /// never give it (to request).
    pub obliged: bool,
}

impl<C> Offer<C> {
    /// The same of a service that this one is a part of.
    pub(crate) fn of<D>(self, whole: impl FnOnce(C) -> D) -> Offer<D> {
        Offer { command: whole(self.command), obliged: self.obliged }
    }
}
