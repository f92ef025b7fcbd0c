use alloc::collections::BTreeMap;
use alloc::format;

use super::books::Books;
use crate::monitor::{Monitor, Observed, Violation};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::log::{Command, Event};

/// *Election safety*: nobody begins to lead in a term in which another has led.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OneLeading(BTreeMap<u64, ProcessId>);

impl OneLeading {
    /// Before anybody led.
    pub fn new() -> Self {
        OneLeading::default()
    }
}

impl Monitor<Command, Event> for OneLeading {
    fn property(&self) -> Property {
        Property::OneLeaderPerTerm
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, Command, Event>,
    ) -> Result<(), Violation> {
        let Observed::Event(Event::Leading { term }) = seen else { return Ok(()) };
        let first = *self.0.entry(*term).or_insert(at);
        if first == at {
            return Ok(());
        }
        Err(Violation { at, says: format!("{first} and {at} both lead in term {term}") })
    }
}

/// *Log matching*: two logs that have an entry of the same term at the same index are alike up to
/// there. As each entry was compared when it was stored, only its neighbour is looked at. Nor is
/// anything stored where there is an entry already: whoever replaces one tells that it drops it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LogMatching(Books);

impl LogMatching {
    /// While all logs are empty.
    pub fn new() -> Self {
        LogMatching::default()
    }
}

impl Monitor<Command, Event> for LogMatching {
    fn property(&self) -> Property {
        Property::LogMatching
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, Command, Event>,
    ) -> Result<(), Violation> {
        let Observed::Event(Event::Stored { index, entry }) = seen else {
            self.0.note(at, seen);
            return Ok(());
        };
        let is_there = self.0.entry(at, *index).is_some();
        self.0.note(at, seen);
        if is_there {
            let says =
                format!("{at} stores at {index}, where it has an entry that it never dropped");
            return Err(Violation { at, says });
        }
        let before = index.saturating_sub(1);
        // Where a snapshot stands for the one before, nobody can tell.
        let meet = |process| match (self.0.term(process, before), self.0.term(at, before)) {
            (Some(there), Some(here)) => there == here,
            _ => true,
        };
        let mut alike = self.0.elsewhere(at, *index).filter(|(_, other)| other.term == entry.term);
        let differs = alike.find(|(process, other)| *other != entry || !meet(*process));
        let Some((process, _)) = differs else { return Ok(()) };
        let says = format!(
            "{at} and {process} both have an entry of term {} at {index}, and differ there or \
             before",
            entry.term
        );
        Err(Violation { at, says })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::log::{Content, Entry};

    const ONE: ProcessId = ProcessId(0);
    const TWO: ProcessId = ProcessId(1);

    fn store(monitor: &mut LogMatching, at: ProcessId, index: u64, term: u64) -> bool {
        let entry = Entry { term, content: Content::Nothing };
        monitor.observe(at, Observed::Event(&Event::Stored { index, entry })).is_ok()
    }

    #[test]
    fn logs_that_meet_again_behind_a_difference_are_seen() {
        let mut monitor = LogMatching::new();
        assert!(store(&mut monitor, ONE, 1, 1));
        assert!(store(&mut monitor, ONE, 2, 3));
        assert!(store(&mut monitor, TWO, 1, 2), "other terms may stand at one index");
        assert!(!store(&mut monitor.clone(), TWO, 2, 3));
        assert_eq!(monitor.observe(TWO, Observed::Event(&Event::Dropped { from: 1 })), Ok(()));
        assert!(store(&mut monitor, TWO, 1, 1));
        assert!(store(&mut monitor, TWO, 2, 3));
        assert!(!store(&mut monitor, TWO, 2, 3), "what is there was not dropped");
    }

    #[test]
    fn a_second_leader_of_a_term_is_seen_and_the_same_one_again_is_not() {
        let mut monitor = OneLeading::new();
        for (at, term, holds) in [(ONE, 1, true), (TWO, 2, true), (ONE, 1, true), (TWO, 1, false)] {
            let judged = monitor.observe(at, Observed::Event(&Event::Leading { term }));
            assert_eq!(judged.is_ok(), holds, "{at} in {term}");
        }
    }
}
