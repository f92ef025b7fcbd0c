use alloc::format;
use alloc::string::ToString;

use crate::monitor::{Monitor, Observed, OfElection, Violation};
use crate::process::ProcessId;
use crate::process_set::ProcessSet;
use crate::property::Property;
use crate::service::election;

/// In the end exactly one believes in itself, unless nobody believes in anybody.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Uniqueness {
    believers: ProcessSet,
    leaders: ProcessSet,
}

impl Uniqueness {
    /// Before anybody was told anything.
    pub fn new() -> Self {
        Uniqueness::default()
    }
}

impl Monitor<election::Command, election::Event> for Uniqueness {
    fn property(&self) -> Property {
        Property::Uniqueness
    }

    fn observe(&mut self, at: ProcessId, seen: OfElection<'_>) -> Result<(), Violation> {
        match seen {
            Observed::Event(election::Event::Elected { leader, .. }) => {
                self.believers.insert(at);
                if *leader == at {
                    self.leaders.insert(at);
                } else {
                    self.leaders.remove(at);
                }
            }
            Observed::Event(election::Event::Deposed { .. }) | Observed::Crashed => {
                self.believers.remove(at);
                self.leaders.remove(at);
            }
            Observed::Command { .. } | Observed::Recovered | Observed::Sent { .. } => {}
        }
        Ok(())
    }

    fn at_end(&self) -> Result<(), Violation> {
        let mut leaders = self.leaders.iter();
        match (leaders.next(), leaders.next()) {
            (Some(first), Some(second)) => {
                let says = format!("in the end {first} and {second} both lead");
                Err(Violation { at: second, says })
            }
            (None, _) if !self.believers.is_empty() => {
                let says = "in the end some believe in a leader, but nobody leads".to_string();
                Err(Violation { at: ProcessId(0), says })
            }
            _ => Ok(()),
        }
    }
}
