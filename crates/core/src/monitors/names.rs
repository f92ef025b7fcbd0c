//! Monitors of renaming: new names must be unique and small.

use alloc::collections::BTreeMap;
use alloc::format;

use crate::monitor::{Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::renaming::{Command, Event, largest_name};

/// Monitor of new names: two processes never get the same name, and no process gets two names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct UniqueNames {
    given: BTreeMap<u32, ProcessId>,
}

impl Monitor<Command, Event> for UniqueNames {
    fn property(&self) -> Property {
        Property::UniqueNames
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        let Observation::Event(Event::Named { name }) = seen else { return Ok(()) };
        if let Some((other, _)) = self.given.iter().find(|(_, has)| **has == at) {
            return violated(at, format!("{at} is named {other}, and then {name}"));
        }
        match self.given.insert(*name, at) {
            Some(other) => violated(at, format!("{at} is named {name}, as {other} is")),
            None => Ok(()),
        }
    }
}

/// Monitor of the size of new names: they are between 1 and N + t. N is the size of the group, and
/// t is the number of tolerated crashes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamesInRange {
    largest: u32,
}

impl NamesInRange {
    /// Creates the monitor for a group of `size` processes. The size determines the largest
    /// permitted name.
    pub const fn new(size: u32) -> Self {
        NamesInRange { largest: largest_name(size) }
    }
}

impl Monitor<Command, Event> for NamesInRange {
    fn property(&self) -> Property {
        Property::NamesInRange
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        let Observation::Event(Event::Named { name }) = seen else { return Ok(()) };
        if (1..=self.largest).contains(name) {
            return Ok(());
        }
        violated(at, format!("{at} is named {name}, and the largest name is {}", self.largest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitors::testing::holds_for_events;

    #[test]
    fn detects_shared_and_second_names() {
        for (given, is_right) in
            [([(0, 1), (1, 3)], true), ([(0, 1), (1, 1)], false), ([(0, 1), (0, 2)], false)]
        {
            let events = given.map(|(at, name)| (at, Event::Named { name }));
            assert_eq!(holds_for_events(UniqueNames::default(), &events), is_right, "{given:?}");
        }
    }

    #[test]
    fn detects_name_above_bound() {
        for (size, name, is_right) in [(3, 4, true), (3, 5, false), (3, 0, false), (5, 7, true)] {
            let events = [(0, Event::Named { name })];
            assert_eq!(
                holds_for_events(NamesInRange::new(size), &events),
                is_right,
                "{name} of {size}"
            );
        }
    }
}
