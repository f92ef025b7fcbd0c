//! Monitor of applied entries and of the states in snapshots.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

use crate::monitor::{Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::log::{Command, Entry, Event, Payload};

/// *State machine safety*: all processes apply the same entries, in the order of the log and
/// without gaps. After a boot, a process starts at the first entry or at a snapshot. After the same
/// entry, all processes have the same state. The monitor learns the state of a process only from
/// snapshots: those that the user provides, and those that the process restores.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct StateMachineSafety {
    /// Committed entries in the order of the log, from index 1.
    history: Vec<Entry>,
    /// Number of entries that each live process has applied.
    applied: BTreeMap<ProcessId, u64>,
    /// For each index of a snapshot: the state of the state machine after the entry at this index.
    states: BTreeMap<u64, Payload>,
}

impl StateMachineSafety {
    fn apply(&mut self, at: ProcessId, index: u64, entry: &Entry) -> MonitorResult {
        let applied = self.applied.entry(at).or_default();
        if index != *applied + 1 {
            return violated(at, format!("{at} applies {index} after {applied}"));
        }
        *applied = index;
        let place = usize::try_from(index - 1).unwrap_or(usize::MAX);
        match self.history.get(place) {
            None => {
                self.history.push(entry.clone());
                Ok(())
            }
            Some(known) if known == entry => Ok(()),
            Some(known) => {
                violated(at, format!("{at} commits {entry} at {index}, where {known} is committed"))
            }
        }
    }

    /// Records the state of the process `at` after the entry at `index`. The process either
    /// provides this state for a snapshot or restores it from a snapshot. Returns an error if a
    /// different state is already recorded at this index.
    fn record_state(&mut self, at: ProcessId, index: u64, state: &Payload) -> MonitorResult {
        match self.states.get(&index) {
            Some(known) if known != state => {
                violated(at, format!("at {index}, {at} has the state {state}, and others {known}"))
            }
            _ => {
                self.states.insert(index, state.clone());
                Ok(())
            }
        }
    }

    /// Records that the process `at` restores a snapshot up to `index`. Returns an error if a
    /// different state is already recorded at this index. Another monitor, of the property *no
    /// creation*, checks the origin of the snapshot.
    fn restore(&mut self, at: ProcessId, index: u64, state: &Payload) -> MonitorResult {
        self.applied.insert(at, index);
        self.record_state(at, index, state)
    }
}

impl Monitor<Command, Event> for StateMachineSafety {
    fn property(&self) -> Property {
        Property::StateMachineSafety
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        match seen {
            Observation::Event(Event::Committed { index, entry }) => self.apply(at, *index, entry),
            Observation::Event(Event::Restored { index, state, .. }) => {
                self.restore(at, *index, state)
            }
            Observation::Command { command: Command::Compact { index, state, .. }, .. } => {
                self.record_state(at, *index, state)
            }
            Observation::Crashed => {
                self.applied.remove(&at);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::log::Content;

    fn commit(monitor: &mut StateMachineSafety, at: u32, index: u64, term: u64) -> bool {
        let entry = Entry { term, content: Content::Nothing };
        let event = Event::Committed { index, entry };
        monitor.observe(ProcessId(at), Observation::Event(&event)).is_ok()
    }

    #[test]
    fn detects_conflicts_gaps_and_repetitions() {
        let mut monitor = StateMachineSafety::default();
        assert!(commit(&mut monitor, 0, 1, 1) && commit(&mut monitor, 0, 2, 1));
        assert!(commit(&mut monitor, 1, 1, 1));
        assert!(!commit(&mut monitor.clone(), 1, 2, 2), "another entry");
        assert!(!commit(&mut monitor.clone(), 1, 3, 1), "a gap");
        assert!(!commit(&mut monitor.clone(), 1, 1, 1), "a second time");
        assert_eq!(monitor.observe(ProcessId(1), Observation::Crashed), Ok(()));
        assert!(commit(&mut monitor, 1, 1, 1));
    }

    #[test]
    fn detects_conflicting_snapshot_state() {
        let compact = |state: u64| Command::Compact { ticket: 1, index: 2, state: state.into() };
        let restored = |state: u64| {
            let members = alloc::boxed::Box::default();
            Event::Restored { index: 2, term: 1, members, state: state.into() }
        };
        let ask = |monitor: &mut StateMachineSafety, at: u32, state| {
            let issued = Observation::Command { command: &compact(state), clock: None };
            monitor.observe(ProcessId(at), issued).is_ok()
        };
        let mut monitor = StateMachineSafety::default();
        assert!(commit(&mut monitor, 0, 1, 1) && commit(&mut monitor, 0, 2, 1));
        assert!(ask(&mut monitor, 0, 7));
        assert!(!ask(&mut monitor.clone(), 1, 8), "another state");
        for (state, holds) in [(8, false), (7, true)] {
            let event = restored(state);
            let applied = monitor.observe(ProcessId(1), Observation::Event(&event));
            assert_eq!(applied.is_ok(), holds);
        }
        assert!(!commit(&mut monitor.clone(), 1, 2, 1), "the snapshot covers it");
        assert!(commit(&mut monitor, 1, 3, 1));
    }
}
