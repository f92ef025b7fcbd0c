//! What a lock keeps when processes crash, and how its tests ask.

use tenure_check::{Check, Report};
use tenure_core::monitors::{Fencing, MutualExclusion};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Fence, Monitor, Mutex, Observed, ProcessId, Property, Violation};

/// Nobody is inside beside another, fences increase, and nobody waits for ever.
pub(crate) fn judged<P: Mutex>(check: Check<P>) -> Report {
    check.always(MutualExclusion::new()).always(Fencing::new()).starvation_free().run()
}

/// All of this holds; the number of states.
pub(crate) fn survives<P: Mutex>(check: Check<P>) -> u64 {
    let report = judged(check);
    report.assert_holds();
    report.states
}

/// Two entries never have the same fence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct DifferentFences(Vec<Fence>);

impl Monitor<Command, Event> for DifferentFences {
    fn property(&self) -> Property {
        Property::Own("different-fences")
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, Command, Event>,
    ) -> Result<(), Violation> {
        let Observed::Event(Event::Entered { fence }) = seen else { return Ok(()) };
        if self.0.contains(fence) {
            let says = format!("{at} entered with fence {fence}, which another had");
            return Err(Violation { at, says });
        }
        self.0.push(*fence);
        self.0.sort_unstable();
        Ok(())
    }
}
