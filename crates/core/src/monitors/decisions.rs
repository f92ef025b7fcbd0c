//! What is expected of consensus.

use alloc::collections::BTreeSet;
use alloc::format;

use crate::monitor::{Monitor, Observed, Violation};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::consensus::{Command, Event};

/// Nobody decides otherwise than another, though one of them crash: uniform agreement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OneDecision {
    /// Who was told first, and what.
    first: Option<(ProcessId, u64)>,
}

impl OneDecision {
    /// Before the first decision.
    pub fn new() -> Self {
        OneDecision::default()
    }
}

impl Monitor<Command, Event> for OneDecision {
    fn property(&self) -> Property {
        Property::Agreement
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, Command, Event>,
    ) -> Result<(), Violation> {
        let Observed::Event(Event::Decided { value }) = seen else { return Ok(()) };
        let (other, decided) = *self.first.get_or_insert((at, *value));
        if decided == *value {
            return Ok(());
        }
        Err(Violation { at, says: format!("{at} decides {value}, and {other} decided {decided}") })
    }
}

/// What is decided was proposed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Proposed(BTreeSet<u64>);

impl Proposed {
    /// Before the first proposal.
    pub fn new() -> Self {
        Proposed::default()
    }
}

impl Monitor<Command, Event> for Proposed {
    fn property(&self) -> Property {
        Property::Validity
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, Command, Event>,
    ) -> Result<(), Violation> {
        match seen {
            Observed::Command { command: Command::Propose { value }, .. } => {
                self.0.insert(*value);
            }
            Observed::Event(Event::Decided { value }) if !self.0.contains(value) => {
                let says = format!("{at} decides {value}, which nobody proposed");
                return Err(Violation { at, says });
            }
            _ => {}
        }
        Ok(())
    }
}

/// Nobody decides twice, but for who was told, crashed and came back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DecidedOnce(BTreeSet<ProcessId>);

impl DecidedOnce {
    /// Before the first decision.
    pub fn new() -> Self {
        DecidedOnce::default()
    }
}

impl Monitor<Command, Event> for DecidedOnce {
    fn property(&self) -> Property {
        Property::Integrity
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, Command, Event>,
    ) -> Result<(), Violation> {
        match seen {
            Observed::Event(_) if !self.0.insert(at) => {
                Err(Violation { at, says: format!("{at} decides a second time") })
            }
            Observed::Crashed => {
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
    fn two_who_decide_differently_are_seen() {
        let mut monitor = OneDecision::new();
        assert_eq!(monitor.observe(ONE, Observed::Event(&decided(1))), Ok(()));
        assert_eq!(monitor.observe(TWO, Observed::Event(&decided(1))), Ok(()));
        assert!(monitor.observe(TWO, Observed::Event(&decided(2))).is_err());
    }

    #[test]
    fn a_decision_that_nobody_proposed_is_seen() {
        let mut monitor = Proposed::new();
        let command = &Command::Propose { value: 1 };
        assert_eq!(monitor.observe(ONE, Observed::Command { command, clock: None }), Ok(()));
        assert_eq!(monitor.observe(TWO, Observed::Event(&decided(1))), Ok(()));
        assert!(monitor.observe(TWO, Observed::Event(&decided(2))).is_err());
    }

    #[test]
    fn a_second_decision_is_seen_but_for_one_who_comes_back() {
        let mut monitor = DecidedOnce::new();
        assert_eq!(monitor.observe(ONE, Observed::Event(&decided(1))), Ok(()));
        assert_eq!(monitor.observe(ONE, Observed::Crashed), Ok(()));
        assert_eq!(monitor.observe(ONE, Observed::Event(&decided(1))), Ok(()));
        assert!(monitor.observe(ONE, Observed::Event(&decided(1))).is_err());
    }
}
