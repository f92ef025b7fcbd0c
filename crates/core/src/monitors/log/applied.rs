use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

use crate::monitor::{Monitor, Observed, Violation};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::log::{Command, Entry, Event};

/// *State machine safety*: all are told of the same entries, in the order of the log, with no gap,
/// and in each life from the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OneHistory {
    /// What is committed, from index 1.
    history: Vec<Entry>,
    /// By process that is up: how much of that it was told.
    told: BTreeMap<ProcessId, u64>,
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
}
