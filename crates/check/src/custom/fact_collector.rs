//! Monitor that collects facts from commands and events, for properties written as expressions.

use std::sync::Arc;

use tenure_core::Violation;
use tenure_trace::property::{ServiceFacts, StepFacts};
use tenure_trace::{ServiceCommand, ServiceEvent};

use crate::model::MonitorStateFacts;
use crate::model::fingerprint::{HashDomain, fingerprint};
use crate::model::intern::{Interned, Interner};
use crate::model::monitors::{ErasedMonitor, OwnedObservation, StepObservation};

/// Monitor whose state contains the facts that expressions read. It never reports a violation.
pub(crate) struct FactCollectingMonitor {
    states: Interner<ServiceFacts>,
    first: ServiceFacts,
    index: usize,
}

impl FactCollectingMonitor {
    /// Creates this monitor. `index` is its number among the monitors of the check, and `first` is
    /// its initial state.
    pub(crate) fn new(first: ServiceFacts, index: usize) -> Self {
        FactCollectingMonitor { states: Interner::new(), first, index }
    }

    fn intern(&self, facts: ServiceFacts) -> Interned {
        self.states.intern(facts, |facts| fingerprint(HashDomain::Monitor(self.index), facts))
    }
}

impl<C: ServiceCommand, E: ServiceEvent> ErasedMonitor<C, E> for FactCollectingMonitor {
    fn initial_state(&self) -> Interned {
        self.intern(self.first.clone())
    }

    fn judge(&self, state: u32, of: &StepObservation<C, E>) -> Result<Interned, Violation> {
        let mut facts = ServiceFacts::clone(&self.states.get(state));
        for seen in &of.seen {
            match seen {
                OwnedObservation::Command(command, _) => {
                    facts.on_command(of.at, &command.to_recorded());
                }
                OwnedObservation::Event(event) => facts.on_event(of.at, &event.to_recorded()),
                OwnedObservation::Crashed => facts.on_crash(of.at),
                OwnedObservation::Recovered | OwnedObservation::Sent { .. } => {}
            }
        }
        Ok(self.intern(facts))
    }

    fn facts(&self, state: u32) -> MonitorStateFacts {
        MonitorStateFacts {
            fingerprint: self.states.fingerprint(state),
            ..MonitorStateFacts::default()
        }
    }

    fn check_final_state(&self, _: u32) -> Result<(), Violation> {
        Ok(())
    }

    fn shifted(&self, state: u32, _: u64) -> Interned {
        // Fences are the only facts that contain timestamps. A search that collects fences never
        // shifts timestamps, so the facts stay the same.
        Interned { id: state, fingerprint: self.states.fingerprint(state) }
    }

    fn service_facts(&self, state: u32) -> Option<Arc<ServiceFacts>> {
        Some(self.states.get(state))
    }
}

/// Returns the facts about one step that expressions read: its process, commands and events.
pub(crate) fn step_facts<C, E>(of: &StepObservation<C, E>) -> StepFacts
where
    C: ServiceCommand,
    E: ServiceEvent,
{
    let mut facts = StepFacts { at: Some(of.at), ..StepFacts::default() };
    for seen in &of.seen {
        match seen {
            OwnedObservation::Command(command, _) => facts.on_command(&command.to_recorded()),
            OwnedObservation::Event(event) => facts.on_event(&event.to_recorded()),
            _ => {}
        }
    }
    facts
}
