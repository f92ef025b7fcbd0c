//! Checks that a lock keeps its properties when processes crash.

use tenure_check::{Check, CheckReport};
use tenure_core::monitors::{Fencing, MutualExclusion};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{
    Fence, Monitor, Mutex, MutexObservation, Observation, ProcessId, Property, Violation,
};

/// Checks mutual exclusion, increasing fences and starvation freedom.
pub(crate) fn with_properties<P: Mutex>(check: Check<P>) -> CheckReport {
    check.always(MutualExclusion::new()).always(Fencing::new()).check_starvation_freedom().run()
}

/// Asserts that a lock is safe and live and that its fences increase. Returns the numbers of states
/// and steps.
pub(crate) fn explored<P: Mutex>(check: Check<P>) -> (u64, u64) {
    let report = with_properties(check);
    report.assert_holds();
    (report.states, report.transitions)
}

/// Asserts that a lock is safe and live and that its fences increase. Returns the number of states.
pub(crate) fn survives<P: Mutex>(check: Check<P>) -> u64 {
    explored(check).0
}

/// Monitor that requires that no two entries have the same fence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct DifferentFences(Vec<Fence>);

impl Monitor<Command, Event> for DifferentFences {
    fn property(&self) -> Property {
        Property::Custom("different-fences")
    }

    fn observe(&mut self, at: ProcessId, seen: MutexObservation<'_>) -> Result<(), Violation> {
        let Observation::Event(Event::Entered { fence }) = seen else { return Ok(()) };
        if self.0.contains(fence) {
            let description = format!("{at} entered with the fence {fence} of another entry");
            return Err(Violation { at, message: description });
        }
        self.0.push(*fence);
        self.0.sort_unstable();
        Ok(())
    }
}
