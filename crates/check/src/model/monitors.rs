//! Monitors whose states are interned.

use std::hash::Hash;
use std::sync::Arc;

use tenure_core::{Monitor, Observation, ProcessId, VectorClock, Violation};
use tenure_trace::property::ServiceFacts;

use crate::model::MonitorStateFacts;
use crate::model::fingerprint::{HashDomain, fingerprint};
use crate::model::intern::{Interned, Interner};

/// Observations that one step of one process gives to the monitors.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StepObservation<C, E> {
    pub(crate) at: ProcessId,
    pub(crate) seen: Vec<OwnedObservation<C, E>>,
}

/// An [`Observation`] that owns its content.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum OwnedObservation<C, E> {
    Command(C, Option<VectorClock>),
    Event(E),
    Crashed,
    Recovered,
    Sent { to: ProcessId },
}

impl<C, E> OwnedObservation<C, E> {
    fn observed(&self) -> Observation<'_, C, E> {
        match self {
            OwnedObservation::Command(command, clock) => {
                Observation::Command { command, clock: clock.as_ref() }
            }
            OwnedObservation::Event(event) => Observation::Event(event),
            OwnedObservation::Crashed => Observation::Crashed,
            OwnedObservation::Recovered => Observation::Recovered,
            OwnedObservation::Sent { to } => Observation::Sent { to: *to },
        }
    }
}

/// A monitor as the search sees it: its states are represented by ids.
pub(crate) trait ErasedMonitor<C, E>: Send + Sync {
    /// Returns the initial state of the monitor.
    fn initial_state(&self) -> Interned;

    /// Returns the state of the monitor after the observations of a step. If the observations cause
    /// a violation, returns the violation.
    fn judge(&self, state: u32, of: &StepObservation<C, E>) -> Result<Interned, Violation>;

    /// Returns the facts about a state of the monitor.
    fn facts(&self, state: u32) -> MonitorStateFacts;

    /// Checks whether a run may end in this state. If not, returns the violation as an error.
    fn check_final_state(&self, state: u32) -> Result<(), Violation>;

    /// Returns the state with all timestamps decreased by `by`.
    fn shifted(&self, state: u32, by: u64) -> Interned;

    /// Returns the facts that the monitor has collected in a state. `None` if it does not collect
    /// facts for properties written as expressions.
    fn service_facts(&self, state: u32) -> Option<Arc<ServiceFacts>> {
        let _ = state;
        None
    }
}

/// A monitor in a search. It stores every state of the monitor that the search has reached.
pub(crate) struct InternedMonitor<M> {
    states: Interner<M>,
    first: M,
    index: usize,
    /// True if the monitor judges the ends of runs in addition to steps.
    judges_ends: bool,
}

impl<M: Eq + Hash> InternedMonitor<M> {
    pub(crate) fn new(first: M, index: usize, judges_ends: bool) -> Self {
        InternedMonitor { states: Interner::new(), first, index, judges_ends }
    }

    fn intern(&self, state: M) -> Interned {
        self.states.intern(state, |state| fingerprint(HashDomain::Monitor(self.index), state))
    }
}

impl<C, E, M: Monitor<C, E> + Send + Sync + 'static> ErasedMonitor<C, E> for InternedMonitor<M> {
    fn initial_state(&self) -> Interned {
        self.intern(self.first.clone())
    }

    fn judge(&self, state: u32, of: &StepObservation<C, E>) -> Result<Interned, Violation> {
        let mut monitor = M::clone(&self.states.get(state));
        for seen in &of.seen {
            monitor.observe(of.at, seen.observed())?;
        }
        Ok(self.intern(monitor))
    }

    fn facts(&self, state: u32) -> MonitorStateFacts {
        let monitor = self.states.get(state);
        MonitorStateFacts {
            fingerprint: self.states.fingerprint(state),
            fails_at_end: self.judges_ends && monitor.check_final_state().is_err(),
            measure: monitor.measure(),
            smallest_timestamp: monitor.smallest_timestamp(),
        }
    }

    fn check_final_state(&self, state: u32) -> Result<(), Violation> {
        self.states.get(state).check_final_state()
    }

    fn shifted(&self, state: u32, by: u64) -> Interned {
        let mut monitor = M::clone(&self.states.get(state));
        monitor.lower_timestamps(by);
        self.intern(monitor)
    }
}
