//! Replicated logs of the processes, reconstructed from a trace.
//!
//! Some records show the entries that a process stores, drops and commits. Other records show
//! crashes and recoveries of a process. All diagrams and pages use the logs that this module
//! reconstructs.

use std::collections::BTreeMap;

use tenure_core::ProcessId;
use tenure_core::service::agreement;
use tenure_core::service::log::{Entry, Event};

use crate::fold::process_state::{ProcessStateChange, ProcessStates};
use crate::format::{Record, RecordKind, RecordedEvent};

/// The log of each process after the records that were read so far.
#[derive(Clone, Debug, Default)]
pub struct ReplicatedLogStates {
    process_states: ProcessStates,
    kept: BTreeMap<ProcessId, ReplicatedLogState>,
}

/// The log of one process. For a process that is down, the log that it had before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplicatedLogState {
    /// Last index that a snapshot covers; 0 if there is no snapshot.
    pub snapshot_index: u64,
    /// Entries after the snapshot, in order. The first of them has the index `snapshot_index` + 1.
    pub entries: Vec<Entry>,
    /// Highest index that the process has reported as committed, or restored from a snapshot, since
    /// its last boot; 0 if there is none.
    pub commit_index: u64,
    /// Term in which the process leads. `None` if it does not lead.
    pub leading_term: Option<u64>,
    /// True if the process has crashed or ended.
    pub is_down: bool,
}

impl ReplicatedLogState {
    /// Returns the index of the last entry, which may be in the snapshot. Returns 0 if there is no
    /// entry.
    pub fn last_index(&self) -> u64 {
        self.snapshot_index + self.entries.len() as u64
    }

    /// Returns the entry at an index. Returns `None` if the entry is in the snapshot, or if the log
    /// does not reach this index.
    pub fn entry(&self, index: u64) -> Option<&Entry> {
        let place = index.checked_sub(self.snapshot_index)?.checked_sub(1)?;
        self.entries.get(usize::try_from(place).ok()?)
    }

    /// Applies an event of the process to its log. Returns `None` if the event changes nothing.
    /// Otherwise returns the index of the last unchanged entry, or 0 if there is none.
    fn apply(&mut self, event: &Event) -> Option<u64> {
        let stays = match event {
            // The snapshot covers this entry. The process stores the entry only for followers that
            // lag behind.
            Event::Stored { index, .. } if *index <= self.snapshot_index => return None,
            Event::Stored { index, entry } => {
                let stays = self.cut(index.saturating_sub(1));
                self.entries.push(entry.clone());
                stays
            }
            Event::Dropped { from } => self.cut(from.saturating_sub(1)),
            Event::Committed { index, .. } => {
                self.commit_index = self.commit_index.max(*index);
                self.last_index()
            }
            Event::Compacted { index, .. } => {
                let gone = index.saturating_sub(self.snapshot_index).min(self.entries.len() as u64);
                self.entries.drain(..usize::try_from(gone).unwrap_or(usize::MAX));
                self.snapshot_index += gone;
                self.last_index()
            }
            Event::Restored { index, .. } => {
                self.entries.clear();
                (self.snapshot_index, self.commit_index) = (*index, *index);
                self.snapshot_index
            }
            Event::Leading { term } => {
                self.leading_term = Some(*term);
                self.last_index()
            }
            Event::Following { .. } | Event::Relaying { .. } => {
                self.leading_term = None;
                self.last_index()
            }
            _ => return None,
        };
        Some(stays)
    }

    /// Drops all entries after the index `most`, and returns the index of the last remaining entry.
    fn cut(&mut self, most: u64) -> u64 {
        let most = most.saturating_sub(self.snapshot_index);
        self.entries.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        self.last_index()
    }
}

/// Change that one record of a trace makes to the log of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicatedLogChange {
    /// Process whose log changes.
    pub at: ProcessId,
    /// Index of the last unchanged entry; 0 if there is none. All later entries were removed or are
    /// new.
    pub unchanged_count: u64,
}

impl ReplicatedLogStates {
    /// Returns the logs of all processes after these records were applied.
    pub fn from_records<'r>(records: impl IntoIterator<Item = &'r Record>) -> Self {
        let mut logs = ReplicatedLogStates::default();
        for record in records {
            logs.apply_record(record);
        }
        logs
    }

    /// Applies the next record of the trace. If the record changes a log, returns this change.
    /// Otherwise returns `None`.
    pub fn apply_record(&mut self, record: &Record) -> Option<ReplicatedLogChange> {
        let at = record.process.process()?;
        let mut stays = None;
        for change in self.process_states.apply_record(record) {
            match change {
                ProcessStateChange::Boots | ProcessStateChange::Recovers => {
                    let before = self.kept.insert(at, ReplicatedLogState::default());
                    stays = before.map(|_| 0);
                }
                ProcessStateChange::Crashes | ProcessStateChange::Terminates => {
                    let kept = self.kept.entry(at).or_default();
                    (kept.is_down, kept.leading_term) = (true, None);
                    stays = Some(kept.last_index());
                }
                _ => {}
            }
        }
        if let RecordKind::Event(RecordedEvent::Agreement(agreement::Event::Log(event))) =
            &record.kind
            && !self.process_states.state(at).is_crashed_or_ended()
        {
            stays = self.kept.entry(at).or_default().apply(event).or(stays);
        }
        stays.map(|stays| ReplicatedLogChange { at, unchanged_count: stays })
    }

    /// Returns the log of a process. Returns `None` if no boot, crash or end of the process and no
    /// change of its log has been recorded.
    pub fn log(&self, at: ProcessId) -> Option<&ReplicatedLogState> {
        self.kept.get(&at)
    }

    /// Returns the highest index of an entry in any log, or 0 if there is no entry. The entries in
    /// snapshots count.
    pub fn last_index(&self) -> u64 {
        self.kept.values().map(ReplicatedLogState::last_index).max().unwrap_or(0)
    }

    /// Returns true if no log contains an entry or a snapshot.
    pub fn is_empty(&self) -> bool {
        self.last_index() == 0
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::service::log::{Content, Payload};

    use super::*;

    const P1: ProcessId = ProcessId(0);

    fn event_kind(event: Event) -> RecordKind {
        RecordKind::Event(RecordedEvent::Agreement(event.into()))
    }

    fn entry(term: u64) -> Entry {
        Entry { term, content: Content::Nothing }
    }

    fn stored(index: u64, term: u64) -> RecordKind {
        event_kind(Event::Stored { index, entry: entry(term) })
    }

    /// Applies records of the process P1 to empty logs. Returns the terms of the entries in the log
    /// of P1, the commit index of P1, and the number of entries that the last change did not
    /// affect.
    fn after(kinds: &[RecordKind]) -> (Vec<u64>, u64, Option<u64>) {
        let mut logs = ReplicatedLogStates::default();
        let mut last = None;
        for (time, kind) in kinds.iter().enumerate() {
            last = logs.apply_record(&Record::new(time as u64, P1, kind.clone()));
        }
        let kept = logs.log(P1).cloned().unwrap_or_default();
        let terms = kept.entries.iter().map(|entry| entry.term).collect();
        (terms, kept.commit_index, last.map(|changed| changed.unchanged_count))
    }

    #[test]
    fn applies_stored_and_dropped_entries() {
        let story = [stored(1, 1), stored(2, 1), stored(3, 2)];
        assert_eq!(after(&story), (vec![1, 1, 2], 0, Some(2)));
        let dropped = [&story[..], &[event_kind(Event::Dropped { from: 2 })]].concat();
        assert_eq!(after(&dropped), (vec![1], 0, Some(1)));
        let again = [&dropped[..], &[stored(2, 3)]].concat();
        assert_eq!(after(&again), (vec![1, 3], 0, Some(1)));
        let committed = event_kind(Event::Committed { index: 1, entry: entry(1) });
        assert_eq!(after(&[&again[..], &[committed]].concat()), (vec![1, 3], 1, Some(2)));
    }

    #[test]
    fn snapshot_replaces_log_prefix() {
        let story = [stored(1, 1), stored(2, 1), stored(3, 2)];
        let compacted = event_kind(Event::Compacted { ticket: 1, index: 2 });
        let short = [&story[..], &[compacted]].concat();
        assert_eq!(after(&short), (vec![2], 0, Some(3)));
        let more = [&short[..], &[stored(4, 2), event_kind(Event::Dropped { from: 4 })]].concat();
        assert_eq!(after(&more), (vec![2], 0, Some(3)));
        let (state, members) = (Payload::from(7), Box::default());
        let restored = event_kind(Event::Restored { index: 5, term: 2, members, state });
        let replaced = [&more[..], std::slice::from_ref(&restored)].concat();
        assert_eq!(after(&replaced), (vec![], 5, Some(5)));
        let again = [&more[..], &[restored, stored(5, 2), stored(6, 3)]].concat();
        assert_eq!(after(&again), (vec![3], 5, Some(5)));
    }

    #[test]
    fn down_process_keeps_log_until_it_reports_again() {
        let committed = event_kind(Event::Committed { index: 1, entry: entry(1) });
        let leading = event_kind(Event::Leading { term: 1 });
        let story = [RecordKind::Boot, leading, stored(1, 1), committed, RecordKind::Crash];
        assert_eq!(after(&story), (vec![1], 1, Some(1)));
        let mut logs = ReplicatedLogStates::default();
        for kind in &story {
            logs.apply_record(&Record::new(0, P1, kind.clone()));
        }
        let kept = logs.log(P1).cloned().unwrap_or_default();
        assert_eq!((kept.is_down, kept.leading_term), (true, None));
        let back = [&story[..], &[RecordKind::Recover]].concat();
        assert_eq!(after(&back), (vec![], 0, Some(0)));
        assert_eq!(after(&[&back[..], &[stored(1, 1)]].concat()), (vec![1], 0, Some(0)));
    }
}
