//! Monitor of the spanning tree that grows from a leader.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;

use crate::monitor::{Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::leader_tree::{Command, Event, WaveId};

/// Monitor of waves: each wave builds a tree with one root. Each other process joins the tree once,
/// through a process that has already joined. Hence there is no cycle, and each process has a path
/// to the root. The root reports the number of joined processes as the size of the tree. After a
/// crash, the root may report a smaller size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OneTreePerWave {
    joined: BTreeMap<WaveId, BTreeSet<ProcessId>>,
    crashed: bool,
}

impl OneTreePerWave {
    /// Creates the monitor in its initial state: no process has joined a wave.
    pub fn new() -> Self {
        OneTreePerWave::default()
    }
}

impl Monitor<Command, Event> for OneTreePerWave {
    fn property(&self) -> Property {
        Property::OneTree
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        match seen {
            Observation::Event(Event::Joined { wave, parent }) => {
                let joined = self.joined.entry(*wave).or_default();
                match parent {
                    Some(parent) if !joined.contains(parent) => {
                        let message = format!("{at} joins through {parent}, which has not joined");
                        return violated(at, message);
                    }
                    None if !joined.is_empty() => {
                        return violated(at, format!("{at} is a second root"));
                    }
                    _ => {}
                }
                if !joined.insert(at) {
                    return violated(at, format!("{at} joins twice"));
                }
            }
            Observation::Event(Event::Completed { wave, size }) => {
                let joined = self.joined.get(wave).map_or(0, BTreeSet::len);
                let size = *size as usize;
                if size > joined || size < joined && !self.crashed {
                    let message = format!("{at} counts {size} in the tree, and there are {joined}");
                    return violated(at, message);
                }
            }
            Observation::Crashed => self.crashed = true,
            Observation::Command { .. } | Observation::Recovered | Observation::Sent { .. } => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::monitors::testing::holds_for_events;
    use crate::service::Term;

    #[test]
    fn detects_malformed_tree() {
        let wave = WaveId { term: Term { number: 1, leader: ProcessId(0) }, number: 1 };
        let joined = |parent: Option<u32>| Event::Joined { wave, parent: parent.map(ProcessId) };
        let completed = |size| Event::Completed { wave, size };
        for (events, is_right) in [
            (vec![(0, joined(None)), (1, joined(Some(0))), (0, completed(2))], true),
            (vec![(0, joined(None)), (1, joined(None))], false),
            (vec![(0, joined(None)), (1, joined(Some(0))), (1, joined(Some(0)))], false),
            (vec![(0, joined(None)), (1, joined(Some(2)))], false),
            (vec![(0, joined(None)), (0, completed(2))], false),
            (vec![(0, joined(None)), (1, joined(Some(0))), (0, completed(1))], false),
        ] {
            assert_eq!(holds_for_events(OneTreePerWave::new(), &events), is_right, "{events:?}");
        }
    }
}
