//! Monitor of bounded bypass, which also measures the bypass.

use alloc::collections::BTreeMap;
use alloc::format;

use crate::monitor::{Monitor, MonitorResult, MutexObservation, Observation, violated};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::mutex;

/// Monitor of bounded bypass: while a process waits, no other process enters the critical section
/// more than a given number of times. The wait of a process begins with its request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bypass {
    bound: u32,
    /// Largest number of entries in `waiting` so far.
    max_bypass: u32,
    /// For each waiting process: how often each other process has entered since the waiting process
    /// made its request.
    waiting: BTreeMap<ProcessId, BTreeMap<ProcessId, u32>>,
}

impl Bypass {
    /// Creates a monitor that allows each other process at most `bound` entries while a process
    /// waits.
    pub fn at_most(bound: u32) -> Self {
        Bypass { bound, max_bypass: 0, waiting: BTreeMap::new() }
    }

    /// Creates a monitor that permits any bypass and only measures it.
    pub fn unbounded() -> Self {
        Bypass::at_most(u32::MAX)
    }

    /// Returns the largest bypass so far. A bypass is the number of entries of one process during
    /// one wait of another process.
    pub fn max_bypass(&self) -> u32 {
        self.max_bypass
    }

    fn entered(&mut self, at: ProcessId) -> MonitorResult {
        self.waiting.remove(&at);
        for (waiter, passed) in &mut self.waiting {
            let times = passed.entry(at).or_insert(0);
            *times += 1;
            self.max_bypass = self.max_bypass.max(*times);
            if *times > self.bound {
                return violated(at, format!("{at} entered {times} times while {waiter} waited"));
            }
        }
        Ok(())
    }
}

impl Monitor<mutex::Command, mutex::Event> for Bypass {
    fn property(&self) -> Property {
        Property::Bypass(Some(self.bound))
    }

    fn observe(&mut self, at: ProcessId, seen: MutexObservation<'_>) -> MonitorResult {
        match seen {
            Observation::Command { command: mutex::Command::Enter, .. } => {
                self.waiting.insert(at, BTreeMap::new());
            }
            Observation::Event(mutex::Event::Entered { .. }) => return self.entered(at),
            Observation::Crashed => {
                self.waiting.remove(&at);
            }
            _ => {}
        }
        Ok(())
    }
}
