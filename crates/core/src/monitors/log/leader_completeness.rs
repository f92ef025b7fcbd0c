//! Monitor of leader completeness, and of the durability of acknowledged entries.

use alloc::collections::BTreeMap;
use alloc::format;

use super::known_logs::KnownLogs;
use crate::monitor::{Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::log::{Command, Entry, Event};

/// *Leader completeness*: the log of a leader contains every entry committed in an earlier term.
///
/// An entry that a snapshot covers is also part of the log. The monitor of *state machine safety*
/// judges the content of the snapshot. A variant of the monitor judges only acknowledged entries:
/// see [`Self::for_acknowledged_entries`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LeaderCompleteness {
    acknowledged: bool,
    known_logs: KnownLogs,
    /// Latest term that each live process has reported.
    terms: BTreeMap<ProcessId, u64>,
    /// Term of each process that leads.
    leading: BTreeMap<ProcessId, u64>,
    /// For each index: the committed entry, and the earliest term of a process when it reported
    /// that the entry was committed. The monitor of durability stores only acknowledged entries.
    committed: BTreeMap<u64, (Entry, u64)>,
}

impl LeaderCompleteness {
    /// Returns a monitor that judges only acknowledged entries.
    #[must_use]
    pub fn for_acknowledged_entries(self) -> Self {
        LeaderCompleteness { acknowledged: true, ..self }
    }

    /// Returns an error if `leader`, which leads in `term`, lacks the entry that was committed at
    /// `index` in an earlier term.
    fn lacks(&self, leader: ProcessId, term: u64, index: u64) -> MonitorResult {
        let (entry, known) = &self.committed[&index];
        let has = self.known_logs.entry(leader, index) == Some(entry);
        if *known >= term || has || self.known_logs.is_compacted(leader, index) {
            return Ok(());
        }
        let kind = if self.acknowledged { "acknowledged" } else { "committed" };
        let message = format!(
            "{entry} was {kind} at {index} in term {known}, and {leader}, which leads in term \
             {term}, does not have it"
        );
        violated(leader, message)
    }

    fn leads(&mut self, at: ProcessId, term: u64) -> MonitorResult {
        self.terms.insert(at, term);
        self.leading.insert(at, term);
        self.committed.keys().try_for_each(|index| self.lacks(at, term, *index))
    }

    /// Judges the acknowledgement of the entry at `index` by the process `at`. If a snapshot has
    /// replaced the entry in the log of `at`, takes the entry from another log. If no other log
    /// contains the entry any more, this entry is not required of later leaders.
    fn acknowledges(&mut self, at: ProcessId, index: u64) -> MonitorResult {
        let own = self.known_logs.entry(at, index);
        match own.or_else(|| self.known_logs.entry_in_snapshot(at, index)).cloned() {
            Some(entry) => self.commits(at, index, &entry),
            None if self.known_logs.is_compacted(at, index) => Ok(()),
            None => violated(at, format!("{at} acknowledges {index}, which it does not have")),
        }
    }

    fn commits(&mut self, at: ProcessId, index: u64, entry: &Entry) -> MonitorResult {
        let known = self.terms.get(&at).copied().unwrap_or(entry.term);
        let first = self.committed.entry(index).or_insert_with(|| (entry.clone(), known));
        first.1 = first.1.min(known);
        self.leading.iter().try_for_each(|(leader, term)| self.lacks(*leader, *term, index))
    }
}

impl Monitor<Command, Event> for LeaderCompleteness {
    fn property(&self) -> Property {
        if self.acknowledged { Property::Durability } else { Property::LeaderCompleteness }
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        self.known_logs.observe(at, seen);
        match seen {
            Observation::Event(Event::Leading { term }) => self.leads(at, *term),
            Observation::Event(Event::Following { term, .. } | Event::Relaying { term, .. }) => {
                self.terms.insert(at, *term);
                self.leading.remove(&at);
                Ok(())
            }
            Observation::Event(Event::Committed { index, entry }) if !self.acknowledged => {
                self.commits(at, *index, entry)
            }
            Observation::Event(Event::Acknowledged { index, .. }) if self.acknowledged => {
                self.acknowledges(at, *index)
            }
            Observation::Crashed => {
                self.terms.remove(&at);
                self.leading.remove(&at);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;
    use crate::service::log::Content;

    const ONE: ProcessId = ProcessId(0);
    const TWO: ProcessId = ProcessId(1);
    const THREE: ProcessId = ProcessId(2);

    fn entry(term: u64) -> Entry {
        Entry { term, content: Content::Nothing }
    }

    fn holds(events: &[(ProcessId, Event)]) -> bool {
        holds_by(LeaderCompleteness::default(), events)
    }

    fn holds_by(mut monitor: LeaderCompleteness, events: &[(ProcessId, Event)]) -> bool {
        events.iter().all(|(at, event)| monitor.observe(*at, Observation::Event(event)).is_ok())
    }

    #[test]
    fn entry_in_snapshot_may_be_acknowledged() {
        let stored = |index, term| Event::Stored { index, entry: entry(term) };
        let (members, state) = (alloc::boxed::Box::default(), 0.into());
        let restored = Event::Restored { index: 2, term: 1, members, state };
        let acknowledged = |index| Event::Acknowledged { ticket: 1, index };
        // P3 has entries of another leader, which are not committed. P1 still has the entries that
        // the snapshot of P2 covers.
        let stored = [stored(1, 1), stored(2, 1)].map(|event| (ONE, event)).into_iter();
        let stale = [1, 2].map(|index| (THREE, Event::Stored { index, entry: entry(0) }));
        let with_copy: Vec<_> = stored.chain(stale).chain([(TWO, restored.clone())]).collect();
        let is_durable = |before: &[(ProcessId, Event)], index, leader| {
            let last = [(TWO, acknowledged(index)), (leader, Event::Leading { term: 2 })];
            let monitor = LeaderCompleteness::default().for_acknowledged_entries();
            holds_by(monitor, &[before, &last].concat())
        };
        for index in [1, 2] {
            assert!(is_durable(&with_copy, index, ONE), "a leader with the entry");
            assert!(is_durable(&with_copy, index, TWO), "a leader with the snapshot");
            assert!(!is_durable(&with_copy, index, THREE), "a leader with another entry");
            assert!(is_durable(&[(TWO, restored.clone())], index, ONE), "no log has the entry");
            assert!(!is_durable(&[], index, ONE), "neither the entry nor a snapshot");
        }
        assert!(!is_durable(&with_copy, 3, ONE), "the snapshot ends before the entry");
    }

    #[test]
    fn detects_later_leader_without_committed_entry() {
        let stored = Event::Stored { index: 1, entry: entry(1) };
        let committed = Event::Committed { index: 1, entry: entry(1) };
        let leads = |term| Event::Leading { term };
        let first: Vec<_> = [leads(1), stored.clone(), committed].map(|event| (ONE, event)).into();
        assert!(holds(&first));
        assert!(!holds(&[first.clone(), vec![(TWO, leads(2))]].concat()));
        assert!(!holds(&[vec![(TWO, leads(2))], first.clone()].concat()));
        assert!(holds(&[first.clone(), vec![(TWO, stored.clone()), (TWO, leads(2))]].concat()));
        // A stale leader of an earlier term need not have the entry.
        let late: Vec<_> = [(ONE, leads(3))].into_iter().chain(first.into_iter().skip(1)).collect();
        assert!(holds(&[late, vec![(TWO, leads(2))]].concat()));
    }
}
