//! Monitor of the number of leaders at the end of a run.

use alloc::format;
use alloc::string::ToString;

use crate::monitor::{ElectionObservation, Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::process_set::ProcessSet;
use crate::property::Property;
use crate::service::election;

/// Monitor of the number of leaders at the end of a run. If at least one process believes in a
/// leader, exactly one process must believe that it leads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OneLeaderAtEnd {
    believers: ProcessSet,
    leaders: ProcessSet,
}

impl Monitor<election::Command, election::Event> for OneLeaderAtEnd {
    fn property(&self) -> Property {
        Property::OneLeaderAtEnd
    }

    fn observe(&mut self, at: ProcessId, seen: ElectionObservation<'_>) -> MonitorResult {
        match seen {
            Observation::Event(election::Event::Elected { leader, .. }) => {
                self.believers.insert(at);
                if *leader == at {
                    self.leaders.insert(at);
                } else {
                    self.leaders.remove(at);
                }
            }
            Observation::Event(election::Event::Deposed { .. }) | Observation::Crashed => {
                self.believers.remove(at);
                self.leaders.remove(at);
            }
            Observation::Command { .. } | Observation::Recovered | Observation::Sent { .. } => {}
        }
        Ok(())
    }

    fn check_final_state(&self) -> MonitorResult {
        let mut leaders = self.leaders.iter();
        match (leaders.next(), leaders.next()) {
            (Some(first), Some(second)) => {
                violated(second, format!("in the end {first} and {second} both lead"))
            }
            (None, _) if !self.believers.is_empty() => {
                let message =
                    "in the end some believe in a leader, but no process leads".to_string();
                violated(ProcessId(0), message)
            }
            _ => Ok(()),
        }
    }
}
