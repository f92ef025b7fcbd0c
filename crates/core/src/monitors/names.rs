use alloc::collections::BTreeMap;
use alloc::format;

use crate::monitor::{Monitor, Observation, Violation};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::renaming::{Command, Event, largest_name};

/// No two processes get the same name, and no process gets two names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct UniqueNames {
    /// Process that has each new name.
    given: BTreeMap<u32, ProcessId>,
}

impl Monitor<Command, Event> for UniqueNames {
    fn property(&self) -> Property {
        Property::UniqueNames
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observation<'_, Command, Event>,
    ) -> Result<(), Violation> {
        let Observation::Event(Event::Named { name }) = seen else { return Ok(()) };
        if let Some((other, _)) = self.given.iter().find(|(_, has)| **has == at) {
            return Err(Violation {
                at,
                message: format!("{at} is named {other}, and then {name}"),
            });
        }
        match self.given.insert(*name, at) {
            Some(other) => {
                Err(Violation { at, message: format!("{at} is named {name}, as {other} is") })
            }
            None => Ok(()),
        }
    }
}

/// New names are between 1 and N + t, where N is the group size and t the number of tolerated
/// crashes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SmallNames {
    largest: u32,
}

impl SmallNames {
    /// Creates the monitor for a group of `size`.
    pub const fn new(size: u32) -> Self {
        SmallNames { largest: largest_name(size) }
    }
}

impl Monitor<Command, Event> for SmallNames {
    fn property(&self) -> Property {
        Property::SmallNames
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observation<'_, Command, Event>,
    ) -> Result<(), Violation> {
        let Observation::Event(Event::Named { name }) = seen else { return Ok(()) };
        if (1..=self.largest).contains(name) {
            return Ok(());
        }
        let message = format!("{at} is named {name}, and the largest name is {}", self.largest);
        Err(Violation { at, message })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_shared_and_second_names() {
        let cases: [(&[(u32, u32)], bool); 3] =
            [(&[(0, 1), (1, 3)], true), (&[(0, 1), (1, 1)], false), (&[(0, 1), (0, 2)], false)];
        for (given, holds) in cases {
            let mut monitor = UniqueNames::default();
            let mut judged = given.iter().map(|(at, name)| {
                monitor.observe(ProcessId(*at), Observation::Event(&Event::Named { name: *name }))
            });
            assert_eq!(judged.all(|it| it.is_ok()), holds, "{given:?}");
        }
    }

    #[test]
    fn detects_name_above_bound() {
        for (size, name, holds) in [(3, 4, true), (3, 5, false), (3, 0, false), (5, 7, true)] {
            let event = Event::Named { name };
            let judged = SmallNames::new(size).observe(ProcessId(0), Observation::Event(&event));
            assert_eq!(judged.is_ok(), holds, "{name} of {size}");
        }
    }
}
