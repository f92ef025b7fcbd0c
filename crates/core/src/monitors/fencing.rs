use alloc::format;

use crate::service::mutex;
use crate::{Fence, Monitor, Observed, ProcessId, Violation};

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
}
