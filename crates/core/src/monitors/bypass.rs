use alloc::collections::BTreeMap;
use alloc::format;

use crate::monitor::{Monitor, Observed, OfMutex, Violation};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::mutex;

/// While a process waits, no other enters more than a given number of times. Waiting begins with
/// the request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bypass {
    bound: u32,
    worst: u32,
    /// For each that waits, how often each other has entered since.
    waiting: BTreeMap<ProcessId, BTreeMap<ProcessId, u32>>,
}

impl Bypass {
    /// At most `bound` entries of any other while one waits.
    pub fn at_most(bound: u32) -> Self {
        Bypass { bound, worst: 0, waiting: BTreeMap::new() }
    }

    /// Never violated: only measures.
    pub fn unbounded() -> Self {
        Bypass::at_most(u32::MAX)
    }

    /// The most entries of one process during one wait of another, so far.
    pub fn worst(&self) -> u32 {
        self.worst
    }

    fn entered(&mut self, at: ProcessId) -> Result<(), Violation> {
        self.waiting.remove(&at);
        for (waiter, passed) in &mut self.waiting {
            let times = passed.entry(at).or_insert(0);
            *times += 1;
            self.worst = self.worst.max(*times);
            if *times > self.bound {
                let says = format!("{at} entered {times} times while {waiter} waited");
                return Err(Violation { at, says });
            }
        }
        Ok(())
    }
}

impl Monitor<mutex::Command, mutex::Event> for Bypass {
    fn property(&self) -> Property {
        Property::Bypass(Some(self.bound))
    }

    fn observe(&mut self, at: ProcessId, seen: OfMutex<'_>) -> Result<(), Violation> {
        match seen {
            Observed::Command { command: mutex::Command::Enter, .. } => {
                self.waiting.insert(at, BTreeMap::new());
            }
            Observed::Event(mutex::Event::Entered { .. }) => return self.entered(at),
            Observed::Crashed => {
                self.waiting.remove(&at);
            }
            _ => {}
        }
        Ok(())
    }
}
