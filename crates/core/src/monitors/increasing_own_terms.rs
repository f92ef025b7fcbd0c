//! Monitor of term numbers: a process that leads again has a higher term number than before, even
//! if it crashed in between.

use alloc::collections::BTreeMap;
use alloc::format;

use crate::monitor::{ElectionObservation, Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::election;

/// Monitor of term numbers: each time that a process becomes leader, its term number is higher than
/// all numbers under which it led before. This also holds after a crash. A leader may report its
/// present term again. The monitor ignores elections without terms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct IncreasingOwnTerms {
    /// For each process that has led: its highest term number as leader, and a flag. The flag is
    /// true while the process still leads under this number.
    led: BTreeMap<ProcessId, (u64, bool)>,
}

impl IncreasingOwnTerms {
    /// Creates the monitor in its initial state: no process has led.
    pub fn new() -> Self {
        IncreasingOwnTerms::default()
    }

    fn ends(&mut self, at: ProcessId) {
        if let Some((_, leads)) = self.led.get_mut(&at) {
            *leads = false;
        }
    }
}

impl Monitor<election::Command, election::Event> for IncreasingOwnTerms {
    fn property(&self) -> Property {
        Property::FreshTerms
    }

    fn observe(&mut self, at: ProcessId, seen: ElectionObservation<'_>) -> MonitorResult {
        match seen {
            Observation::Event(election::Event::Elected { leader, term }) if *leader == at => {
                let number = term.number;
                let (highest, leads) = self.led.get(&at).copied().unwrap_or_default();
                let again = leads && number == highest;
                if number > 0 && number <= highest && !again {
                    let message = format!("{at} leads again under {number}, after {highest}");
                    return violated(at, message);
                }
                if number > 0 {
                    self.led.insert(at, (number, true));
                }
            }
            Observation::Event(_) | Observation::Crashed => self.ends(at),
            Observation::Command { .. } | Observation::Recovered | Observation::Sent { .. } => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Term;

    fn elected(monitor: &mut IncreasingOwnTerms, at: u32, number: u64) -> MonitorResult {
        let leader = ProcessId(at);
        let event = election::Event::Elected { leader, term: Term { number, leader } };
        monitor.observe(leader, Observation::Event(&event))
    }

    #[test]
    fn rejects_leading_ended_term_again() {
        let mut monitor = IncreasingOwnTerms::new();
        assert_eq!(elected(&mut monitor, 0, 1), Ok(()));
        assert_eq!(elected(&mut monitor, 0, 1), Ok(()), "it message so once more");
        assert_eq!(elected(&mut monitor, 1, 1), Ok(()), "that is for others to judge");
        monitor.observe(ProcessId(0), Observation::Crashed).expect("no violation");
        assert!(elected(&mut monitor.clone(), 0, 1).is_err());
        assert_eq!(elected(&mut monitor, 0, 2), Ok(()));
    }

    #[test]
    fn ignores_elections_without_terms() {
        let mut monitor = IncreasingOwnTerms::new();
        for _ in 0..2 {
            assert_eq!(elected(&mut monitor, 0, 0), Ok(()));
            monitor.observe(ProcessId(0), Observation::Crashed).expect("no violation");
        }
    }
}
