//! Fencing, where stamps are shifted.

use tenure_core::service::mutex;
use tenure_core::{Fence, Observed, ProcessId, Violation};

use crate::judge::Watch;

/// Every fence is higher than all before it: the monitor of `tenure-core` in a form whose memory
/// can be shifted together with the stamps of the protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct ShiftingFences {
    highest: Option<Fence>,
}

impl Watch<mutex::Command, mutex::Event> for ShiftingFences {
    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, mutex::Command, mutex::Event>,
    ) -> Result<(), Violation> {
        let Observed::Event(mutex::Event::Entered { fence }) = seen else { return Ok(()) };
        if let Some(highest) = self.highest
            && *fence <= highest
        {
            let says = format!("{at} entered with fence {fence}, after fence {highest}");
            return Err(Violation { property: "fencing", at, says });
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
