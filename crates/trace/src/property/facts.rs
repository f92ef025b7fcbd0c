//! Facts about processes, derived from the commands and events of a service and from crashes: which
//! processes wait, which are inside the critical section, and their leaders, terms and fences.

use tenure_core::service::{agreement, election, log, mutex};
use tenure_core::{Fence, ProcessId, Service};

use crate::format::{RecordedCommand, RecordedEvent};

/// Facts about all processes of a group, from the commands and events of their users.
///
/// Stores only the facts that a property reads. Therefore two states are equal if they differ only
/// in facts that no property reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServiceFacts {
    tracked: FactSelection,
    processes: Vec<ProcessFacts>,
}

/// Selection of the facts that [`ServiceFacts`] stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FactSelection {
    /// True if the facts include the waiting processes, and the processes inside the critical
    /// section.
    pub phases: bool,
    /// True if the facts include leaders and terms.
    pub leaders: bool,
    /// True if the facts include fences.
    pub fences: bool,
    /// True if the service is an election without a lock. A process then waits from its request, or
    /// from the loss of its leader, until it learns of a leader.
    pub is_election_only: bool,
}

impl FactSelection {
    /// Returns the selection of all facts about this service.
    pub const fn all(service: Service) -> Self {
        FactSelection {
            phases: true,
            leaders: true,
            fences: true,
            is_election_only: FactSelection::is_election_only(service),
        }
    }

    /// Returns the empty selection of facts about this service.
    pub const fn none(service: Service) -> Self {
        let elects = FactSelection::is_election_only(service);
        FactSelection { phases: false, leaders: false, fences: false, is_election_only: elects }
    }

    /// Returns the union of the two selections.
    #[must_use]
    pub const fn union(self, other: FactSelection) -> Self {
        FactSelection {
            phases: self.phases || other.phases,
            leaders: self.leaders || other.leaders,
            fences: self.fences || other.fences,
            is_election_only: self.is_election_only || other.is_election_only,
        }
    }

    /// Returns true if the service is an election without a lock, as for
    /// [`FactSelection::is_election_only`].
    pub(super) const fn is_election_only(service: Service) -> bool {
        matches!(service, Service::Election)
    }
}

/// Facts about one process: whether it waits for the critical section or is inside it, its leader,
/// and its last fence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ProcessFacts {
    pub(super) waiting: bool,
    pub(super) inside: bool,
    pub(super) leader: Option<ProcessId>,
    /// Term in which `leader` leads; 0 if the process knows no leader.
    pub(super) term: u64,
    pub(super) fence: Option<Fence>,
}

/// Commands and events of one step at one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StepFacts {
    /// Process that takes the step. `None` if no process does.
    pub at: Option<ProcessId>,
    /// True if the user of the process requests the lock or an election.
    pub requests: bool,
    /// True if the process enters the critical section.
    pub enters: bool,
    /// True if the process leaves the critical section.
    pub exits: bool,
}

impl StepFacts {
    /// Adds to this step a command that the user of the process issues.
    pub fn on_command(&mut self, command: &RecordedCommand) {
        self.requests |= command.mutex() == Some(&mutex::Command::Enter)
            || command.election() == Some(&election::Command::Elect);
    }

    /// Adds to this step an event that the user of the process receives.
    pub fn on_event(&mut self, event: &RecordedEvent) {
        match event.mutex() {
            Some(mutex::Event::Entered { .. }) => self.enters = true,
            Some(mutex::Event::Exited) => self.exits = true,
            None => {}
        }
    }
}

impl ServiceFacts {
    /// Creates the facts of a group of `size` processes in the initial state: no event has
    /// occurred.
    pub fn new(size: u32, tracked: FactSelection) -> Self {
        ServiceFacts { tracked, processes: vec![ProcessFacts::default(); size as usize] }
    }

    pub(super) fn process(&self, at: u32) -> &ProcessFacts {
        &self.processes[at as usize]
    }

    /// Applies a command that the user of process `at` issues.
    pub fn on_command(&mut self, at: ProcessId, command: &RecordedCommand) {
        let (tracked, mine) = (self.tracked, &mut self.processes[at.index()]);
        let enters = command.mutex() == Some(&mutex::Command::Enter);
        let elects =
            command.election() == Some(&election::Command::Elect) && tracked.is_election_only;
        mine.waiting |= tracked.phases && (enters || elects);
    }

    /// Applies an event that the user of process `at` receives.
    pub fn on_event(&mut self, at: ProcessId, event: &RecordedEvent) {
        let (tracked, mine) = (self.tracked, &mut self.processes[at.index()]);
        match event.mutex() {
            Some(mutex::Event::Entered { fence }) => {
                (mine.waiting, mine.inside) = (false, tracked.phases);
                if tracked.fences {
                    mine.fence = Some(*fence);
                }
            }
            Some(mutex::Event::Exited) => (mine.waiting, mine.inside) = (false, false),
            None => {}
        }
        match event.election() {
            Some(election::Event::Elected { leader, term }) => {
                mine.waiting &= !tracked.is_election_only;
                mine.set_leader(tracked, Some((*leader, term.number)));
            }
            Some(election::Event::Deposed { .. }) => {
                mine.waiting |= tracked.phases && tracked.is_election_only;
                mine.set_leader(tracked, None);
            }
            None => {}
        }
        if let RecordedEvent::Agreement(agreement::Event::Log(event)) = event {
            match event {
                log::Event::Leading { term } => mine.set_leader(tracked, Some((at, *term))),
                log::Event::Following { term, leader } => {
                    mine.set_leader(tracked, leader.map(|leader| (leader, *term)));
                }
                log::Event::Relaying { term, leader } => {
                    mine.set_leader(tracked, Some((*leader, *term)));
                }
                _ => {}
            }
        }
    }

    /// Applies a crash: the process neither waits nor knows a leader, and it is not inside the
    /// critical section. Its last fence stays known.
    pub fn on_crash(&mut self, at: ProcessId) {
        let mine = &mut self.processes[at.index()];
        *mine = ProcessFacts { fence: mine.fence, ..ProcessFacts::default() };
    }
}

impl ProcessFacts {
    fn set_leader(&mut self, tracked: FactSelection, leader: Option<(ProcessId, u64)>) {
        let known = leader.filter(|_| tracked.leaders);
        (self.leader, self.term) = (known.map(|known| known.0), known.map_or(0, |known| known.1));
    }
}
