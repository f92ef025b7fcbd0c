//! A property of your own: no process enters without a request.

use std::collections::BTreeSet;

use tenure::core::service::mutex::{Command, Event};
use tenure::core::{Monitor, MutexObservation, Observation, ProcessId, Property, Violation};

/// Monitor of the property. Each entry of a process must follow a request of the same process. A
/// request must not serve two entries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RequestBeforeEntry {
    waiting: BTreeSet<ProcessId>,
}

impl Monitor<Command, Event> for RequestBeforeEntry {
    fn property(&self) -> Property {
        Property::Custom("request-before-entry")
    }

    fn observe(&mut self, at: ProcessId, seen: MutexObservation<'_>) -> Result<(), Violation> {
        match seen {
            Observation::Command { command: Command::Enter, .. } => {
                self.waiting.insert(at);
            }
            Observation::Event(Event::Entered { .. }) if !self.waiting.remove(&at) => {
                let message = format!("{at} entered without a request");
                return Err(Violation { at, message });
            }
            Observation::Crashed => {
                self.waiting.remove(&at);
            }
            _ => {}
        }
        Ok(())
    }
}
