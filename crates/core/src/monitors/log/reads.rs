use alloc::collections::BTreeMap;
use alloc::format;

use crate::monitor::{Monitor, Observed, Violation};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::log::{Command, Event};

/// Reads are linearizable: whoever is answered has been told of all that anybody had been
/// acknowledged, or had been answered, when it asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LinearizableReads {
    /// The highest index that anybody was acknowledged or answered.
    known: u64,
    /// By read that waits: what was known when it was asked.
    asked: BTreeMap<(ProcessId, u64), u64>,
    /// By process that is up: how far it was told.
    told: BTreeMap<ProcessId, u64>,
}

impl LinearizableReads {
    /// Before anything was asked.
    pub fn new() -> Self {
        LinearizableReads::default()
    }

    fn answer(&mut self, at: ProcessId, ticket: u64, index: u64) -> Result<(), Violation> {
        let least = self.asked.remove(&(at, ticket)).unwrap_or(0);
        let told = self.told.get(&at).copied().unwrap_or(0);
        self.known = self.known.max(index);
        if index >= least && told >= index {
            return Ok(());
        }
        let says = if index < least {
            format!("{at} answers {ticket} as of {index}, and {least} was known when it was asked")
        } else {
            format!("{at} answers {ticket} as of {index}, and was told only up to {told}")
        };
        Err(Violation { at, says })
    }
}

impl Monitor<Command, Event> for LinearizableReads {
    fn property(&self) -> Property {
        Property::LinearizableReads
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, Command, Event>,
    ) -> Result<(), Violation> {
        match seen {
            Observed::Command { command: Command::Read { ticket }, .. } => {
                self.asked.insert((at, *ticket), self.known);
            }
            Observed::Event(Event::Acknowledged { index, .. }) => {
                self.known = self.known.max(*index);
            }
            Observed::Event(Event::Answered { ticket, index }) => {
                return self.answer(at, *ticket, *index);
            }
            Observed::Event(Event::Declined { ticket, .. }) => {
                self.asked.remove(&(at, *ticket));
            }
            Observed::Event(Event::Committed { index, .. } | Event::Restored { index, .. }) => {
                self.told.insert(at, *index);
            }
            Observed::Crashed => {
                self.told.remove(&at);
                self.asked.retain(|(process, _), _| *process != at);
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::log::{Content, Entry};

    const ONE: ProcessId = ProcessId(0);
    const TWO: ProcessId = ProcessId(1);

    #[test]
    fn an_answer_that_is_older_than_what_was_known_is_seen() {
        let entry = Entry { term: 1, content: Content::Nothing };
        let committed = Event::Committed { index: 1, entry };
        let acknowledged = Event::Acknowledged { ticket: 7, index: 1 };
        let read = Command::Read { ticket: 1 };
        let asked = || Observed::Command { command: &read, clock: None };
        let answer = |index| Event::Answered { ticket: 1, index };
        let mut monitor = LinearizableReads::new();
        let mut early = monitor.clone();
        for (at, event) in [(ONE, &committed), (ONE, &acknowledged)] {
            assert_eq!(monitor.observe(at, Observed::Event(event)), Ok(()));
        }
        assert_eq!(monitor.observe(TWO, asked()), Ok(()));
        assert!(monitor.clone().observe(TWO, Observed::Event(&answer(0))).is_err());
        assert!(monitor.clone().observe(TWO, Observed::Event(&answer(1))).is_err(), "not told");
        assert_eq!(monitor.observe(TWO, Observed::Event(&committed)), Ok(()));
        assert_eq!(monitor.observe(TWO, Observed::Event(&answer(1))), Ok(()));
        // Who asked before that may be answered without it.
        assert_eq!(early.observe(TWO, asked()), Ok(()));
        assert_eq!(early.observe(ONE, Observed::Event(&committed)), Ok(()));
        assert_eq!(early.observe(ONE, Observed::Event(&acknowledged)), Ok(()));
        assert_eq!(early.observe(TWO, Observed::Event(&answer(0))), Ok(()));
    }
}
