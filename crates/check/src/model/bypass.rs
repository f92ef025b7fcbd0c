//! How often others enter while one waits, measured over all schedules.

use tenure_core::service::mutex;
use tenure_core::{Monitor, Observed, OfMutex, ProcessId, Property, Violation};

/// Counts, for each that waits, the entries of each other; the search takes the maximum.
///
/// Counts stop at a cap, so that an unbounded bypass is a finite graph too: a maximum that
/// equals the cap means "at least".
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Bypassed {
    cap: u32,
    /// For each that waits, how often each process has entered since.
    waiting: Vec<Option<Vec<u32>>>,
}

impl Bypassed {
    pub(crate) fn new(size: u32, cap: u32) -> Self {
        Bypassed { cap, waiting: vec![None; size as usize] }
    }
}

impl Monitor<mutex::Command, mutex::Event> for Bypassed {
    fn property(&self) -> Property {
        Property::Bypass(None)
    }

    fn observe(&mut self, at: ProcessId, seen: OfMutex<'_>) -> Result<(), Violation> {
        match seen {
            Observed::Command { command: mutex::Command::Enter, .. } => {
                self.waiting[at.index()] = Some(vec![0; self.waiting.len()]);
            }
            Observed::Event(mutex::Event::Entered { .. }) => {
                self.waiting[at.index()] = None;
                for passed in self.waiting.iter_mut().flatten() {
                    passed[at.index()] = (passed[at.index()] + 1).min(self.cap);
                }
            }
            Observed::Crashed => self.waiting[at.index()] = None,
            _ => {}
        }
        Ok(())
    }

    fn measure(&self) -> u64 {
        let counts = self.waiting.iter().flatten().flatten();
        counts.copied().max().map_or(0, u64::from)
    }
}
