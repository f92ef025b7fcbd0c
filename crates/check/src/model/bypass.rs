//! Monitor that measures the exact bypass bound of a lock.

use tenure_core::service::mutex;
use tenure_core::{Monitor, MutexObservation, Observation, ProcessId, Property, Violation};

/// Counts the entries of every other process while a process waits. The search determines the
/// maximum.
///
/// The monitor stops counting at a cap, so that the state space is finite even if bypass is
/// unbounded. If the maximum equals the cap, it means "at least".
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BypassMonitor {
    cap: u32,
    /// For each process, the number of entries of each other process since its request. `None` for
    /// a process that does not wait.
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
