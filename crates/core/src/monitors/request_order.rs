//! Monitor of the order of entries, compared with the order of their requests.

use alloc::format;
use alloc::vec::Vec;

use crate::clock::{Causality, VectorClock};
use crate::monitor::{Monitor, MonitorResult, MutexObservation, Observation, violated};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::mutex;

/// Monitor of the order of entries: if one request happened before another request, the earlier
/// request is served first.
///
/// The monitor compares the vector clocks of the requests, which the engine provides. For
/// [`Property::FirstComeFirstServed`], the clocks follow only the messages of the lock. For
/// [`Property::OrderWithMessages`], they also follow the messages of the application. Without
/// clocks, the property is never violated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RequestOrder {
    with_messages: bool,
    waiting: Vec<(ProcessId, VectorClock)>,
}

impl RequestOrder {
    /// Creates the monitor of [`Property::FirstComeFirstServed`] in its initial state: no request
    /// has been seen.
    pub fn new() -> Self {
        RequestOrder::default()
    }

    /// Creates the monitor of [`Property::OrderWithMessages`] in its initial state. The vector
    /// clocks of the engine must include the messages of the application.
    pub fn with_application_messages() -> Self {
        RequestOrder { with_messages: true, ..RequestOrder::new() }
    }

    fn entered(&mut self, at: ProcessId) -> MonitorResult {
        let Some(place) = self.waiting.iter().position(|(process, _)| *process == at) else {
            return Ok(());
        };
        let (_, mine) = self.waiting.swap_remove(place);
        // Compares one counter first, which is cheap and rules out most requests.
        let earlier = self.waiting.iter().find(|(process, clock)| {
            clock.count(*process) <= mine.count(*process)
                && clock.causality(&mine) == Causality::Before
        });
        let Some((first, _)) = earlier else { return Ok(()) };
        violated(at, format!("{at} entered before {first}, whose request happened before its own"))
    }
}

impl Monitor<mutex::Command, mutex::Event> for RequestOrder {
    fn property(&self) -> Property {
        if self.with_messages {
            Property::OrderWithMessages
        } else {
            Property::FirstComeFirstServed
        }
    }

    fn observe(&mut self, at: ProcessId, seen: MutexObservation<'_>) -> MonitorResult {
        match seen {
            Observation::Command { command: mutex::Command::Enter, clock: Some(clock) } => {
                self.waiting.push((at, clock.clone()));
            }
            Observation::Event(mutex::Event::Entered { .. }) => return self.entered(at),
            Observation::Crashed => self.waiting.retain(|(process, _)| *process != at),
            _ => {}
        }
        Ok(())
    }
}
