use alloc::format;

use crate::monitor::{Monitor, Observed, OfMutex, Violation};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::{Fence, mutex};

/// Every entry's fence is higher than that of every earlier entry, of anybody.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fencing {
    highest: Option<Fence>,
}

impl Fencing {
    /// Before the first entry.
    pub fn new() -> Self {
        Fencing::default()
    }
}

impl Monitor<mutex::Command, mutex::Event> for Fencing {
    fn property(&self) -> Property {
        Property::Fencing
    }

    fn observe(&mut self, at: ProcessId, seen: OfMutex<'_>) -> Result<(), Violation> {
        let Observed::Event(mutex::Event::Entered { fence }) = seen else { return Ok(()) };
        if let Some(highest) = self.highest
            && *fence <= highest
        {
            let says = format!("{at} entered with fence {fence}, after fence {highest}");
            return Err(Violation { at, says });
        }
        self.highest = Some(*fence);
        Ok(())
    }

    fn smallest(&self) -> Option<u64> {
        self.highest.map(|fence| fence.0)
    }

    fn shift(&mut self, by: u64) {
        if let Some(fence) = &mut self.highest {
            fence.0 -= by;
        }
    }
}
