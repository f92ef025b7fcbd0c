//! The log of each process of a group, as monitors know it from the events that the processes
//! reported.

use alloc::collections::BTreeMap;

use crate::monitor::Observation;
use crate::process::ProcessId;
use crate::service::log::{Command, Entry, Event};

/// Log of each process that has reported entries or a snapshot. The log of a crashed process is
/// kept until its recovery. The recovered process then reports its log again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct KnownLogs(BTreeMap<ProcessId, KnownLog>);

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct KnownLog {
    /// Index and term of the last entry that a snapshot covers; zeros without a snapshot.
    compacted: (u64, u64),
    entries: BTreeMap<u64, Entry>,
}

impl KnownLogs {
    pub(super) fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) {
        match seen {
            Observation::Event(Event::Stored { index, entry }) => {
                self.0.entry(at).or_default().entries.insert(*index, entry.clone());
            }
            Observation::Event(Event::Dropped { from }) => {
                if let Some(known_log) = self.0.get_mut(&at) {
                    drop(known_log.entries.split_off(from));
                }
            }
            Observation::Event(Event::Compacted { index, .. }) => {
                let Some(known_log) = self.0.get_mut(&at) else { return };
                if let Some(last) = known_log.entries.get(index) {
                    known_log.compacted = (*index, last.term);
                    known_log.entries = known_log.entries.split_off(&(index + 1));
                }
            }
            Observation::Event(Event::Restored { index, term, .. }) => {
                let known_log = KnownLog { compacted: (*index, *term), entries: BTreeMap::new() };
                self.0.insert(at, known_log);
            }
            Observation::Recovered => {
                self.0.remove(&at);
            }
            _ => {}
        }
    }

    pub(super) fn entry(&self, at: ProcessId, index: u64) -> Option<&Entry> {
        self.0.get(&at)?.entries.get(&index)
    }

    /// Returns true if the snapshot of the process `at` covers the entry at `index`.
    pub(super) fn is_compacted(&self, at: ProcessId, index: u64) -> bool {
        self.0.get(&at).is_some_and(|known_log| index <= known_log.compacted.0)
    }

    /// Returns the entry at `index` if the snapshot of the process `at` covers it. The entry comes
    /// from another log that contains the last entry of this snapshot. Such a log equals the log of
    /// `at` up to that entry. Any other log may contain another leader's entry at `index`. Returns
    /// `None` if the snapshot does not cover `index`, or if no such log still has the entry.
    pub(super) fn entry_in_snapshot(&self, at: ProcessId, index: u64) -> Option<&Entry> {
        let (last, term) = self.0.get(&at)?.compacted;
        let mut others = self.other_entries_at(at, index).filter(|_| index <= last);
        let (_, entry) = others.find(|(other, _)| self.term(*other, last) == Some(term))?;
        Some(entry)
    }

    /// Returns the term of the entry at `index` in the log of the process `at`. Returns 0 if the
    /// log has no such entry. Returns `None` if a snapshot covers this entry, unless it is the last
    /// entry that the snapshot covers.
    pub(super) fn term(&self, at: ProcessId, index: u64) -> Option<u64> {
        let Some(known_log) = self.0.get(&at) else { return Some(0) };
        match known_log.entries.get(&index) {
            Some(entry) => Some(entry.term),
            None if index == known_log.compacted.0 => Some(known_log.compacted.1),
            None => (index > known_log.compacted.0).then_some(0),
        }
    }

    /// Returns the entries at `index` in the logs of all processes except `at`.
    pub(super) fn other_entries_at(
        &self,
        at: ProcessId,
        index: u64,
    ) -> impl Iterator<Item = (ProcessId, &Entry)> {
        let others = self.0.iter().filter(move |(other, _)| **other != at);
        others.filter_map(move |(other, known_log)| Some((*other, known_log.entries.get(&index)?)))
    }
}
