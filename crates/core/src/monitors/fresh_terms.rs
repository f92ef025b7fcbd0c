use alloc::collections::BTreeMap;
use alloc::format;

use crate::monitor::{Monitor, Observed, OfElection, Violation};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::election;

/// Whoever begins to lead does so under a higher number than any under which it led before, and
/// not even a crash makes it forget. In elections without terms this says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FreshTerms {
    /// By process: the highest number under which it led, and whether it still does.
    led: BTreeMap<ProcessId, (u64, bool)>,
}

impl FreshTerms {
    /// Before anybody led.
    pub fn new() -> Self {
        FreshTerms::default()
    }

    fn ends(&mut self, at: ProcessId) {
        if let Some((_, leads)) = self.led.get_mut(&at) {
            *leads = false;
        }
    }
}

impl Monitor<election::Command, election::Event> for FreshTerms {
    fn property(&self) -> Property {
        Property::FreshTerms
    }

    fn observe(&mut self, at: ProcessId, seen: OfElection<'_>) -> Result<(), Violation> {
        match seen {
            Observed::Event(election::Event::Elected { leader, term }) if *leader == at => {
                let number = term.number;
                let (highest, leads) = self.led.get(&at).copied().unwrap_or_default();
                let again = leads && number == highest;
                if number > 0 && number <= highest && !again {
                    let says = format!("{at} leads again under {number}, after {highest}");
                    return Err(Violation { at, says });
                }
                if number > 0 {
                    self.led.insert(at, (number, true));
                }
            }
            Observed::Event(_) | Observed::Crashed => self.ends(at),
            Observed::Command { .. } | Observed::Recovered | Observed::Sent { .. } => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Term;

    fn elected(monitor: &mut FreshTerms, at: u32, number: u64) -> Result<(), Violation> {
        let leader = ProcessId(at);
        let event = election::Event::Elected { leader, term: Term { number, leader } };
        monitor.observe(leader, Observed::Event(&event))
    }

    #[test]
    fn a_term_that_is_over_is_not_led_again_not_even_after_a_crash() {
        let mut monitor = FreshTerms::new();
        assert_eq!(elected(&mut monitor, 0, 1), Ok(()));
        assert_eq!(elected(&mut monitor, 0, 1), Ok(()), "it says so once more");
        assert_eq!(elected(&mut monitor, 1, 1), Ok(()), "that is for others to judge");
        monitor.observe(ProcessId(0), Observed::Crashed).expect("it may");
        assert!(elected(&mut monitor.clone(), 0, 1).is_err());
        assert_eq!(elected(&mut monitor, 0, 2), Ok(()));
    }

    #[test]
    fn without_terms_nothing_is_said() {
        let mut monitor = FreshTerms::new();
        for _ in 0..2 {
            assert_eq!(elected(&mut monitor, 0, 0), Ok(()));
            monitor.observe(ProcessId(0), Observed::Crashed).expect("it may");
        }
    }
}
