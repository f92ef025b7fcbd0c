use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

use crate::monitor::{Monitor, Observed, Violation};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::log::{Command, Entry, Event, Payload};

/// *State machine safety*: all are told of the same entries, in the order of the log, with no gap,
/// and in each life from the beginning, or from a snapshot. What state machines have come to at an
/// index is the same everywhere, whether it was handed over there or began with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OneHistory {
    /// What is committed, from index 1.
    history: Vec<Entry>,
    /// By process that is up: how much of that it was told.
    told: BTreeMap<ProcessId, u64>,
    /// By index: what a state machine had come to.
    states: BTreeMap<u64, Payload>,
}

impl OneHistory {
    /// Before anything was committed.
    pub fn new() -> Self {
        OneHistory::default()
    }

    fn apply(&mut self, at: ProcessId, index: u64, entry: &Entry) -> Result<(), Violation> {
        let told = self.told.entry(at).or_default();
        if index != *told + 1 {
            let says = format!("{at} is told of {index} after {told}");
            return Err(Violation { at, says });
        }
        *told = index;
        let place = usize::try_from(index - 1).unwrap_or(usize::MAX);
        match self.history.get(place) {
            None => {
                self.history.push(entry.clone());
                Ok(())
            }
            Some(known) if known == entry => Ok(()),
            Some(known) => {
                let says = format!("{at} commits {entry} at {index}, where {known} is committed");
                Err(Violation { at, says })
            }
        }
    }

    /// A user hands over what its state machine has come to.
    fn hand_over(&mut self, at: ProcessId, index: u64, state: &Payload) -> Result<(), Violation> {
        match self.states.get(&index) {
            Some(known) if known != state => {
                let says = format!("at {index}, {at} has come to {state}, and others to {known}");
                Err(Violation { at, says })
            }
            _ => {
                self.states.insert(index, state.clone());
                Ok(())
            }
        }
    }

    /// That somebody handed it over is for *no creation* to judge.
    fn restore(&mut self, at: ProcessId, index: u64, state: &Payload) -> Result<(), Violation> {
        self.told.insert(at, index);
        self.hand_over(at, index, state)
    }
}

impl Monitor<Command, Event> for OneHistory {
    fn property(&self) -> Property {
        Property::StateMachineSafety
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, Command, Event>,
    ) -> Result<(), Violation> {
        match seen {
            Observed::Event(Event::Committed { index, entry }) => self.apply(at, *index, entry),
            Observed::Event(Event::Restored { index, state, .. }) => {
                self.restore(at, *index, state)
            }
            Observed::Command { command: Command::Compact { index, state, .. }, .. } => {
                self.hand_over(at, *index, state)
            }
            Observed::Crashed => {
                self.told.remove(&at);
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

    fn commit(monitor: &mut OneHistory, at: u32, index: u64, term: u64) -> bool {
        let entry = Entry { term, content: Content::Nothing };
        let event = Event::Committed { index, entry };
        monitor.observe(ProcessId(at), Observed::Event(&event)).is_ok()
    }

    #[test]
    fn another_entry_a_gap_and_a_second_time_are_seen_and_a_second_life_is_not() {
        let mut monitor = OneHistory::new();
        assert!(commit(&mut monitor, 0, 1, 1) && commit(&mut monitor, 0, 2, 1));
        assert!(commit(&mut monitor, 1, 1, 1));
        assert!(!commit(&mut monitor.clone(), 1, 2, 2), "another entry");
        assert!(!commit(&mut monitor.clone(), 1, 3, 1), "a gap");
        assert!(!commit(&mut monitor.clone(), 1, 1, 1), "a second time");
        assert_eq!(monitor.observe(ProcessId(1), Observed::Crashed), Ok(()));
        assert!(commit(&mut monitor, 1, 1, 1));
    }

    #[test]
    fn another_state_is_seen_and_a_snapshot_passes_over_entries() {
        let compact = |state: u64| Command::Compact { ticket: 1, index: 2, state: state.into() };
        let restored = |state: u64| {
            let members = alloc::boxed::Box::default();
            Event::Restored { index: 2, term: 1, members, state: state.into() }
        };
        let ask = |monitor: &mut OneHistory, at: u32, state| {
            let asked = Observed::Command { command: &compact(state), clock: None };
            monitor.observe(ProcessId(at), asked).is_ok()
        };
        let mut monitor = OneHistory::new();
        assert!(commit(&mut monitor, 0, 1, 1) && commit(&mut monitor, 0, 2, 1));
        assert!(ask(&mut monitor, 0, 7));
        assert!(!ask(&mut monitor.clone(), 1, 8), "another state");
        for (state, holds) in [(8, false), (7, true)] {
            let event = restored(state);
            let told = monitor.observe(ProcessId(1), Observed::Event(&event));
            assert_eq!(told.is_ok(), holds);
        }
        assert!(!commit(&mut monitor.clone(), 1, 2, 1), "told of what was in it");
        assert!(commit(&mut monitor, 1, 3, 1));
    }
}
