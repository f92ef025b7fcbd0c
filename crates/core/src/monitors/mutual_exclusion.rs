use alloc::format;

use crate::service::mutex;
use crate::{Monitor, Observed, ProcessId, ProcessSet, Violation};

/// At most one process inside (or at most *k*).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MutualExclusion {
    inside: ProcessSet,
    most: u32,
    crash_ends_entry: bool,
}

impl MutualExclusion {
    /// At most one *live* process inside: a crash ends an entry.
    pub fn new() -> Self {
        MutualExclusion::at_most(1)
    }

    /// At most `most` live processes inside: the property of a k-mutex.
    pub fn at_most(most: u32) -> Self {
        MutualExclusion { inside: ProcessSet::new(), most, crash_ends_entry: true }
    }

    /// A process that crashed inside counts as inside until it recovers.
    pub fn strict() -> Self {
        MutualExclusion { crash_ends_entry: false, ..MutualExclusion::new() }
    }

    /// Who is inside now.
    pub fn inside(&self) -> &ProcessSet {
        &self.inside
    }

    fn entered(&mut self, at: ProcessId) -> Result<(), Violation> {
        self.inside.insert(at);
        if self.inside.len() <= self.most {
            return Ok(());
        }
        let says = format!("{at} entered, and now {:?} are inside", self.inside);
        Err(Violation { property: "mutual-exclusion", at, says })
    }
}

impl Default for MutualExclusion {
    fn default() -> Self {
        MutualExclusion::new()
    }
}

impl Monitor<mutex::Command, mutex::Event> for MutualExclusion {
    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, mutex::Command, mutex::Event>,
    ) -> Result<(), Violation> {
        match seen {
            Observed::Event(mutex::Event::Entered { .. }) => self.entered(at),
            Observed::Event(mutex::Event::Exited) | Observed::Recovered => {
                self.inside.remove(at);
                Ok(())
            }
            Observed::Crashed if self.crash_ends_entry => {
                self.inside.remove(at);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
