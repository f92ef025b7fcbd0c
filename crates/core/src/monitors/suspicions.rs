//! Monitors of failure detectors: accuracy and completeness.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use crate::monitor::{Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::process_set::ProcessSet;
use crate::property::Property;
use crate::protocol::PeerVerdict;
use crate::service::detector::{Command, Event};

/// Strong accuracy of a failure detector: no process is suspected before it crashes, or after it
/// has recovered.
///
/// T. D. Chandra, S. Toueg, JACM 43(2), 1996. A detector with strong accuracy and
/// [`StrongCompleteness`] is perfect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct StrongAccuracy {
    down: ProcessSet,
}

impl StrongAccuracy {
    /// Creates the monitor in its initial state: no process has crashed.
    pub fn new() -> Self {
        StrongAccuracy::default()
    }
}

impl Monitor<Command, Event> for StrongAccuracy {
    fn property(&self) -> Property {
        Property::Custom("accuracy")
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        match seen {
            Observation::Event(Event { peer, verdict: PeerVerdict::Suspect })
                if !self.down.contains(*peer) =>
            {
                return violated(at, format!("{at} suspects {peer}, which is up"));
            }
            Observation::Crashed => drop(self.down.insert(at)),
            Observation::Recovered => drop(self.down.remove(at)),
            Observation::Event(_) | Observation::Command { .. } | Observation::Sent { .. } => {}
        }
        Ok(())
    }
}

/// Strong completeness of a failure detector: at the end of a run, every live process suspects
/// every process that has crashed and not recovered.
///
/// T. D. Chandra, S. Toueg, JACM 43(2), 1996.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StrongCompleteness {
    /// Processes that each process suspects, by the index of the suspecting process.
    suspected: Vec<ProcessSet>,
    down: ProcessSet,
}

impl StrongCompleteness {
    /// Creates the monitor for a group of `size` processes, in its initial state: no process has
    /// crashed.
    pub fn new(size: u32) -> Self {
        StrongCompleteness {
            suspected: vec![ProcessSet::new(); size as usize],
            down: ProcessSet::new(),
        }
    }
}

impl Monitor<Command, Event> for StrongCompleteness {
    fn property(&self) -> Property {
        Property::Custom("completeness")
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        let suspected = &mut self.suspected[at.index()];
        match seen {
            Observation::Event(Event { peer, verdict }) => match verdict {
                PeerVerdict::Suspect => drop(suspected.insert(*peer)),
                PeerVerdict::Trust => drop(suspected.remove(*peer)),
            },
            Observation::Crashed => {
                suspected.clear();
                self.down.insert(at);
            }
            Observation::Recovered => drop(self.down.remove(at)),
            Observation::Command { .. } | Observation::Sent { .. } => {}
        }
        Ok(())
    }

    fn check_final_state(&self) -> MonitorResult {
        for (place, suspected) in self.suspected.iter().enumerate() {
            let at = ProcessId::from_index(place);
            if !self.down.contains(at) && !self.down.is_subset(suspected) {
                return violated(at, format!("{at} trusts a crashed process"));
            }
        }
        Ok(())
    }
}
