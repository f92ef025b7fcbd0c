//! Monitor of the fencing tokens of entries.

use alloc::format;

use crate::monitor::{Monitor, MonitorResult, MutexObservation, Observation, violated};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::{Fence, mutex};

/// Monitor of fences. The fence of an entry must be higher than the fences of all earlier entries
/// of all processes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fencing {
    highest: Option<Fence>,
}

impl Fencing {
    /// Creates the monitor in its initial state: no entry has been seen.
    pub fn new() -> Self {
        Fencing::default()
    }
}

impl Monitor<mutex::Command, mutex::Event> for Fencing {
    fn property(&self) -> Property {
        Property::Fencing
    }

    fn observe(&mut self, at: ProcessId, seen: MutexObservation<'_>) -> MonitorResult {
        let Observation::Event(mutex::Event::Entered { fence }) = seen else { return Ok(()) };
        if let Some(highest) = self.highest
            && *fence <= highest
        {
            return violated(at, format!("{at} entered with fence {fence}, after fence {highest}"));
        }
        self.highest = Some(*fence);
        Ok(())
    }

    fn smallest_timestamp(&self) -> Option<u64> {
        self.highest.map(|fence| fence.0)
    }

    fn lower_timestamps(&mut self, by: u64) {
        if let Some(fence) = &mut self.highest {
            fence.0 -= by;
        }
    }
}
