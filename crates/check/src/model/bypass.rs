//! Monitor that measures the exact bypass bound of a lock.

use tenure_core::service::mutex;
use tenure_core::{Monitor, MutexObservation, Observation, ProcessId, Property, Violation};

/// Monitor that counts, for each waiting process, the entries of every other process. The search
/// determines the greatest count over all global states.
///
/// Counting stops at `cap`, so that the state space is finite even if bypass is unbounded. If the
/// greatest count equals the cap, the true bound may be greater.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BypassMonitor {
    cap: u32,
    /// For each process that waits, by index: how often every other process has entered since the
    /// request of the waiting process. `None` for a process that does not wait.
    waiting: Vec<Option<Vec<u32>>>,
}

impl BypassMonitor {
    pub(crate) fn new(size: u32, cap: u32) -> Self {
        BypassMonitor { cap, waiting: vec![None; size as usize] }
    }
}

impl Monitor<mutex::Command, mutex::Event> for BypassMonitor {
    fn property(&self) -> Property {
        Property::Bypass(None)
    }

    fn observe(&mut self, at: ProcessId, seen: MutexObservation<'_>) -> Result<(), Violation> {
        match seen {
            Observation::Command { command: mutex::Command::Enter, .. } => {
                self.waiting[at.index()] = Some(vec![0; self.waiting.len()]);
            }
            Observation::Event(mutex::Event::Entered { .. }) => {
                self.waiting[at.index()] = None;
                for passed in self.waiting.iter_mut().flatten() {
                    passed[at.index()] = (passed[at.index()] + 1).min(self.cap);
                }
            }
            Observation::Crashed => self.waiting[at.index()] = None,
            _ => {}
        }
        Ok(())
    }

    fn measure(&self) -> u64 {
        let counts = self.waiting.iter().flatten().flatten();
        counts.copied().max().map_or(0, u64::from)
    }
}
