//! Monitor of mutual exclusion and of k-exclusion.

use alloc::format;

use crate::monitor::{Monitor, MonitorResult, MutexObservation, Observation, violated};
use crate::process::ProcessId;
use crate::process_set::ProcessSet;
use crate::property::Property;
use crate::service::mutex;

/// Monitor of mutual exclusion: at most *k* processes are inside the critical section. For mutual
/// exclusion proper, *k* is 1.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MutualExclusion {
    inside: ProcessSet,
    /// Property that the monitor judges, for example [`Property::KExclusion`] with its *k*. In
    /// [`Property::MutualExclusionStrict`], a process that crashes inside the critical section
    /// stays inside. In all other properties, a crash removes the process from the critical
    /// section.
    property: Property,
}

impl MutualExclusion {
    /// Creates a monitor that allows at most one process inside the critical section. A crash
    /// removes a process from the critical section.
    pub fn new() -> Self {
        MutualExclusion::of(Property::MutualExclusion)
    }

    /// Creates a monitor that allows at most `most` live processes inside the critical section, as
    /// a k-mutex does.
    pub fn at_most(most: u32) -> Self {
        MutualExclusion::of(Property::KExclusion(most))
    }

    /// Creates a monitor that allows at most one process inside the critical section. A process
    /// that crashes inside the critical section stays inside until it recovers.
    pub fn counting_crashed() -> Self {
        MutualExclusion::of(Property::MutualExclusionStrict)
    }

    fn of(property: Property) -> Self {
        MutualExclusion { inside: ProcessSet::new(), property }
    }

    /// Returns the processes inside the critical section.
    pub fn inside(&self) -> &ProcessSet {
        &self.inside
    }

    fn entered(&mut self, at: ProcessId) -> MonitorResult {
        let most = match self.property {
            Property::KExclusion(most) => most,
            _ => 1,
        };
        self.inside.insert(at);
        if self.inside.len() <= most {
            return Ok(());
        }
        violated(at, format!("{at} entered, and now {:?} are inside", self.inside))
    }
}

impl Default for MutualExclusion {
    fn default() -> Self {
        MutualExclusion::new()
    }
}

impl Monitor<mutex::Command, mutex::Event> for MutualExclusion {
    fn property(&self) -> Property {
        self.property
    }

    fn observe(&mut self, at: ProcessId, seen: MutexObservation<'_>) -> MonitorResult {
        match seen {
            Observation::Event(mutex::Event::Entered { .. }) => self.entered(at),
            Observation::Event(mutex::Event::Exited) | Observation::Recovered => {
                self.inside.remove(at);
                Ok(())
            }
            Observation::Crashed if self.property != Property::MutualExclusionStrict => {
                self.inside.remove(at);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
