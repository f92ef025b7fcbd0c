//! Monitors of waves.

use alloc::collections::BTreeMap;
use alloc::format;

use crate::monitor::{Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::process_set::ProcessSet;
use crate::property::Property;
use crate::service::wave::{Command, Event};

/// Monitor of the trees that waves build. A wave must not reach a process twice. Only the initiator
/// may have no parent, and the parent of every other process must have been reached earlier.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct WaveTree {
    /// For each initiator of a wave that has not returned: the processes that the wave has reached.
    reached: BTreeMap<ProcessId, ProcessSet>,
}

impl Monitor<Command, Event> for WaveTree {
    fn property(&self) -> Property {
        Property::OneTree
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        match seen {
            Observation::Event(Event::Reached { initiator, parent }) => {
                let reached = self.reached.entry(*initiator).or_default();
                match parent {
                    Some(parent) if !reached.contains(*parent) => {
                        let message = format!(
                            "{at} joins {initiator}'s wave through {parent}, which has not joined"
                        );
                        return violated(at, message);
                    }
                    None if at != *initiator => {
                        let message = format!("{at} is a second root of {initiator}'s wave");
                        return violated(at, message);
                    }
                    _ => {}
                }
                if !reached.insert(at) {
                    return violated(at, format!("{at} joins {initiator}'s wave twice"));
                }
            }
            Observation::Event(Event::Returned { .. }) => {
                self.reached.remove(&at);
            }
            Observation::Command { .. }
            | Observation::Crashed
            | Observation::Recovered
            | Observation::Sent { .. } => {}
        }
        Ok(())
    }
}

/// Monitor of the end of waves: a wave returns to its initiator only when all processes have taken
/// part. The number of processes that the initiator then reports must be the group size.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AllReached {
    size: u32,
    reached: BTreeMap<ProcessId, ProcessSet>,
}

impl AllReached {
    /// Creates the monitor for a group of `size` processes, in its initial state: no wave has
    /// started.
    pub const fn new(size: u32) -> Self {
        AllReached { size, reached: BTreeMap::new() }
    }
}

impl Monitor<Command, Event> for AllReached {
    fn property(&self) -> Property {
        Property::AllReached
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        match seen {
            Observation::Event(Event::Reached { initiator, .. }) => {
                self.reached.entry(*initiator).or_default().insert(at);
            }
            Observation::Event(Event::Returned { size }) => {
                let reached = self.reached.remove(&at).map_or(0, |reached| reached.len());
                if reached < self.size {
                    let all = self.size;
                    let message =
                        format!("{at}'s wave returns, but {reached} of {all} have taken part");
                    return violated(at, message);
                }
                if *size != reached {
                    let message = format!("{at} counts {size} processes, and there are {reached}");
                    return violated(at, message);
                }
            }
            Observation::Command { .. }
            | Observation::Crashed
            | Observation::Recovered
            | Observation::Sent { .. } => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitors::testing::holds_for_events;

    const ROOT: ProcessId = ProcessId(0);

    fn reached(at: u32, parent: Option<u32>) -> (u32, Event) {
        (at, Event::Reached { initiator: ROOT, parent: parent.map(ProcessId) })
    }

    fn returned(size: u32) -> (u32, Event) {
        (0, Event::Returned { size })
    }

    #[test]
    fn detects_malformed_wave_tree() {
        let root = reached(0, None);
        for (events, is_tree) in [
            (&[root, reached(1, Some(0)), reached(2, Some(1)), returned(3), root][..], true),
            (&[root, reached(1, None)], false),
            (&[root, reached(1, Some(2))], false),
            (&[root, reached(1, Some(0)), reached(1, Some(0))], false),
            (&[root, root], false),
        ] {
            assert_eq!(holds_for_events(WaveTree::default(), events), is_tree, "{events:?}");
        }
    }

    #[test]
    fn detects_early_return_and_wrong_count() {
        let first = [reached(0, None), reached(1, Some(0))];
        let then =
            |more: &[(u32, Event)]| holds_for_events(AllReached::new(3), &[&first, more].concat());
        assert!(then(&[reached(2, Some(1)), returned(3)]));
        assert!(!then(&[returned(3)]));
        assert!(!then(&[reached(2, Some(1)), returned(2)]));
        let again = [reached(2, Some(1)), returned(3), reached(0, None), returned(3)];
        assert!(!then(&again), "the second wave reached one process");
    }
}
