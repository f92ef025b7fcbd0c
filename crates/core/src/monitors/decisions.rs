//! Monitors of consensus.

use alloc::collections::BTreeSet;
use alloc::format;

use crate::monitor::{Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::consensus::{Command, Event};

/// Monitor of uniform agreement: two processes never decide differently, even if one of them
/// crashes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OneDecision {
    first: Option<(ProcessId, u64)>,
}

impl Monitor<Command, Event> for OneDecision {
    fn property(&self) -> Property {
        Property::Agreement
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        let Observation::Event(Event::Decided { value }) = seen else { return Ok(()) };
        let (other, decided) = *self.first.get_or_insert((at, *value));
        if decided == *value {
            return Ok(());
        }
        violated(at, format!("{at} decides {value}, and {other} decided {decided}"))
    }
}

/// Monitor of the origin of decisions: if a process decides on a value, some process has proposed
/// this value before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DecidedWasProposed(BTreeSet<u64>);

impl Monitor<Command, Event> for DecidedWasProposed {
    fn property(&self) -> Property {
        Property::Validity
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        match seen {
            Observation::Command { command: Command::Propose { value }, .. } => {
                self.0.insert(*value);
            }
            Observation::Event(Event::Decided { value }) if !self.0.contains(value) => {
                return violated(at, format!("{at} decides {value}, which no process proposed"));
            }
            _ => {}
        }
        Ok(())
    }
}

/// Monitor of repeated decisions: no process decides twice, except after a crash and recovery.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DecidedOnce(BTreeSet<ProcessId>);

impl Monitor<Command, Event> for DecidedOnce {
    fn property(&self) -> Property {
        Property::Integrity
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        match seen {
            Observation::Event(_) if !self.0.insert(at) => {
                violated(at, format!("{at} decides a second time"))
            }
            Observation::Crashed => {
                self.0.remove(&at);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: ProcessId = ProcessId(0);
    const TWO: ProcessId = ProcessId(1);

    fn decided(value: u64) -> Event {
        Event::Decided { value }
    }

    #[test]
    fn detects_different_decisions() {
        let mut monitor = OneDecision::default();
        assert_eq!(monitor.observe(ONE, Observation::Event(&decided(1))), Ok(()));
        assert_eq!(monitor.observe(TWO, Observation::Event(&decided(1))), Ok(()));
        assert!(monitor.observe(TWO, Observation::Event(&decided(2))).is_err());
    }

    #[test]
    fn detects_unproposed_decision() {
        let mut monitor = DecidedWasProposed::default();
        let command = &Command::Propose { value: 1 };
        assert_eq!(monitor.observe(ONE, Observation::Command { command, clock: None }), Ok(()));
        assert_eq!(monitor.observe(TWO, Observation::Event(&decided(1))), Ok(()));
        assert!(monitor.observe(TWO, Observation::Event(&decided(2))).is_err());
    }

    #[test]
    fn detects_second_decision_except_after_recovery() {
        let mut monitor = DecidedOnce::default();
        assert_eq!(monitor.observe(ONE, Observation::Event(&decided(1))), Ok(()));
        assert_eq!(monitor.observe(ONE, Observation::Crashed), Ok(()));
        assert_eq!(monitor.observe(ONE, Observation::Event(&decided(1))), Ok(()));
        assert!(monitor.observe(ONE, Observation::Event(&decided(1))).is_err());
    }
}
