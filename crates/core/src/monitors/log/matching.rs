//! Monitors of election safety and log matching.

use alloc::collections::BTreeMap;
use alloc::format;

use super::known_logs::KnownLogs;
use crate::monitor::{Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::log::{Command, Event};

/// *Election safety*: no process becomes leader in a term in which another process has led.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ElectionSafety(BTreeMap<u64, ProcessId>);

impl Monitor<Command, Event> for ElectionSafety {
    fn property(&self) -> Property {
        Property::OneLeaderPerTerm
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        let Observation::Event(Event::Leading { term }) = seen else { return Ok(()) };
        let first = *self.0.entry(*term).or_insert(at);
        if first == at {
            return Ok(());
        }
        violated(at, format!("{first} and {at} both lead in term {term}"))
    }
}

/// *Log matching*: if two logs have an entry of the same term at the same index, the logs are equal
/// up to that index.
///
/// The monitor compares each stored entry with the entries of the same term at the same index in
/// all other logs. These entries must be equal, and the entries before them must have equal terms.
/// If a process stores an entry at an occupied index and has not reported that it drops the old
/// entry, the property is violated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LogMatching(KnownLogs);

impl Monitor<Command, Event> for LogMatching {
    fn property(&self) -> Property {
        Property::LogMatching
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        let Observation::Event(Event::Stored { index, entry }) = seen else {
            self.0.observe(at, seen);
            return Ok(());
        };
        let is_there = self.0.entry(at, *index).is_some();
        self.0.observe(at, seen);
        if is_there {
            let message =
                format!("{at} stores at {index}, where it has an entry that it never dropped");
            return violated(at, message);
        }
        let before = index.saturating_sub(1);
        // True if the entries just before this index have equal terms in both logs. Also true if a
        // snapshot covers one of these entries, because the term of this entry may then be unknown.
        let meet = |process| match (self.0.term(process, before), self.0.term(at, before)) {
            (Some(there), Some(here)) => there == here,
            _ => true,
        };
        let mut alike =
            self.0.other_entries_at(at, *index).filter(|(_, other)| other.term == entry.term);
        let differs = alike.find(|(process, other)| *other != entry || !meet(*process));
        let Some((process, _)) = differs else { return Ok(()) };
        let message = format!(
            "{at} and {process} both have an entry of term {} at {index}, and differ there or \
             before",
            entry.term
        );
        violated(at, message)
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
        monitor.observe(at, Observation::Event(&Event::Stored { index, entry })).is_ok()
    }

    #[test]
    fn detects_logs_that_match_after_difference() {
        let mut monitor = LogMatching::default();
        assert!(store(&mut monitor, ONE, 1, 1));
        assert!(store(&mut monitor, ONE, 2, 3));
        assert!(store(&mut monitor, TWO, 1, 2), "other terms may stand at one index");
        assert!(!store(&mut monitor.clone(), TWO, 2, 3));
        assert_eq!(monitor.observe(TWO, Observation::Event(&Event::Dropped { from: 1 })), Ok(()));
        assert!(store(&mut monitor, TWO, 1, 1));
        assert!(store(&mut monitor, TWO, 2, 3));
        assert!(!store(&mut monitor, TWO, 2, 3), "the old entry was not dropped");
    }

    #[test]
    fn detects_second_leader_of_term() {
        let mut monitor = ElectionSafety::default();
        for (at, term, holds) in [(ONE, 1, true), (TWO, 2, true), (ONE, 1, true), (TWO, 1, false)] {
            let judged = monitor.observe(at, Observation::Event(&Event::Leading { term }));
            assert_eq!(judged.is_ok(), holds, "{at} in {term}");
        }
    }
}
