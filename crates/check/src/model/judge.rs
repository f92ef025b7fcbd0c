//! Monitors by number: a monitor's states are interned like everything else of a world.

use std::hash::Hash;

use tenure_core::{Monitor, Observed, ProcessId, VectorClock, Violation};

use crate::model::MonitorFacts;
use crate::model::fingerprint::{Role, fingerprint};
use crate::model::intern::{Interned, Interner};

/// What one step showed at one process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Observation<C, E> {
    pub(crate) at: ProcessId,
    pub(crate) seen: Vec<Seen<C, E>>,
}

/// One thing that a step showed: [`Observed`], owned.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Seen<C, E> {
    Command(C, Option<VectorClock>),
    Event(E),
    Crashed,
    Recovered,
    Sent { to: ProcessId },
}

impl<C, E> Seen<C, E> {
    fn observed(&self) -> Observed<'_, C, E> {
        match self {
            Seen::Command(command, clock) => Observed::Command { command, clock: clock.as_ref() },
            Seen::Event(event) => Observed::Event(event),
            Seen::Crashed => Observed::Crashed,
            Seen::Recovered => Observed::Recovered,
            Seen::Sent { to } => Observed::Sent { to: *to },
        }
    }
}

/// A monitor by number.
pub(crate) trait Judge<C, E>: Send + Sync {
    /// Its state before anything happened.
    fn first(&self) -> Interned;

    /// Its state after an observation.
    fn judge(&self, state: u32, of: &Observation<C, E>) -> Result<Interned, Violation>;

    /// What the search asks of a state.
    fn facts(&self, state: u32) -> MonitorFacts;

    /// What is wrong with a run that ends like this.
    fn at_end(&self, state: u32) -> Result<(), Violation>;

    /// The state with its stamps made smaller.
    fn shifted(&self, state: u32, by: u64) -> Interned;
}

/// A monitor whose states are interned.
pub(crate) struct Interning<M> {
    states: Interner<M>,
    first: M,
    place: usize,
    /// Whether a run is also judged by how it ends.
    ends: bool,
}

impl<M: Eq + Hash> Interning<M> {
    pub(crate) fn new(first: M, place: usize, ends: bool) -> Self {
        Interning { states: Interner::new(), first, place, ends }
    }

    fn intern(&self, state: M) -> Interned {
        self.states.intern(state, |state| fingerprint(Role::Monitor(self.place), state))
    }
}

impl<C, E, M: Monitor<C, E> + Send + Sync + 'static> Judge<C, E> for Interning<M> {
    fn first(&self) -> Interned {
        self.intern(self.first.clone())
    }

    fn judge(&self, state: u32, of: &Observation<C, E>) -> Result<Interned, Violation> {
        let mut monitor = M::clone(&self.states.get(state));
        for seen in &of.seen {
            monitor.observe(of.at, seen.observed())?;
        }
        Ok(self.intern(monitor))
    }

    fn facts(&self, state: u32) -> MonitorFacts {
        let monitor = self.states.get(state);
        MonitorFacts {
            fingerprint: self.states.fingerprint(state),
            fails_at_end: self.ends && monitor.at_end().is_err(),
            measure: monitor.measure(),
            smallest: monitor.smallest(),
        }
    }

    fn at_end(&self, state: u32) -> Result<(), Violation> {
        self.states.get(state).at_end()
    }

    fn shifted(&self, state: u32, by: u64) -> Interned {
        let mut monitor = M::clone(&self.states.get(state));
        monitor.shift(by);
        self.intern(monitor)
    }
}
