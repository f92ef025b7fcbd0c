//! What processes have as their logs, as a trace tells it.
//!
//! Whoever keeps a log says what it stores, drops and commits, and a trace says who crashes and
//! comes back. Pictures, pages and whoever else wants to see logs ask the same fold of that.

use std::collections::BTreeMap;

use tenure_core::ProcessId;
use tenure_core::service::agreement;
use tenure_core::service::log::{Entry, Event};

use crate::fold::standing::{Change, Standings};
use crate::format::{Kind, Record, Told};

/// What the records so far say of each process's log.
#[derive(Clone, Debug, Default)]
pub struct Logs {
    standings: Standings,
    kept: BTreeMap<ProcessId, Kept>,
}

/// The log of a process. Who is down has what it will come back with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Up to which index a snapshot stands for the entries; 0 where there is none.
    pub snapshot: u64,
    /// What comes behind that.
    pub entries: Vec<Entry>,
    /// Up to which index its user was told that it is committed; 0 after it came back.
    pub committed: u64,
    /// The term in which it leads, if it does.
    pub leads: Option<u64>,
    /// Whether it crashed or ended.
    pub is_down: bool,
}

impl Kept {
    /// The index of its last entry; 0 where it has none.
    pub fn last(&self) -> u64 {
        self.snapshot + self.entries.len() as u64
    }

    /// The entry at an index, if there is one.
    pub fn entry(&self, index: u64) -> Option<&Entry> {
        let place = index.checked_sub(self.snapshot)?.checked_sub(1)?;
        self.entries.get(usize::try_from(place).ok()?)
    }

    /// Takes note of what its user is told. Says how many entries are as they were, where that
    /// changes the log.
    fn hear(&mut self, event: &Event) -> Option<u64> {
        let stays = match event {
            // What stands before the end of a snapshot may be kept for others.
            Event::Stored { index, .. } if *index <= self.snapshot => return None,
            Event::Stored { index, entry } => {
                let stays = self.cut(index.saturating_sub(1));
                self.entries.push(entry.clone());
                stays
            }
            Event::Dropped { from } => self.cut(from.saturating_sub(1)),
            Event::Committed { index, .. } => {
                self.committed = self.committed.max(*index);
                self.last()
            }
            Event::Compacted { index, .. } => {
                let gone = index.saturating_sub(self.snapshot).min(self.entries.len() as u64);
                self.entries.drain(..usize::try_from(gone).unwrap_or(usize::MAX));
                self.snapshot += gone;
                self.last()
            }
            Event::Restored { index, .. } => {
                self.entries.clear();
                (self.snapshot, self.committed) = (*index, *index);
                self.snapshot
            }
            Event::Leading { term } => {
                self.leads = Some(*term);
                self.last()
            }
            Event::Following { .. } | Event::Relaying { .. } => {
                self.leads = None;
                self.last()
            }
            _ => return None,
        };
        Some(stays)
    }

    /// Keeps no more than so many entries, and says how many that is.
    fn cut(&mut self, most: u64) -> u64 {
        let most = most.saturating_sub(self.snapshot);
        self.entries.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        self.last()
    }
}

/// What a record changes at a process's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Whose.
    pub at: ProcessId,
    /// How many entries are as they were; those behind them are gone, or new.
    pub stays: u64,
}

impl Logs {
    /// The logs at the end of these records.
    pub fn after<'r>(records: impl IntoIterator<Item = &'r Record>) -> Self {
        let mut logs = Logs::default();
        for record in records {
            logs.read(record);
        }
        logs
    }

    /// Takes note of a record, and says which log it changes, if any.
    pub fn read(&mut self, record: &Record) -> Option<Changed> {
        let at = record.process.process()?;
        let mut stays = None;
        for change in self.standings.read(record) {
            match change {
                Change::Boots | Change::Recovers => {
                    let before = self.kept.insert(at, Kept::default());
                    stays = before.map(|_| 0);
                }
                Change::Crashes | Change::Leaves => {
                    let kept = self.kept.entry(at).or_default();
                    (kept.is_down, kept.leads) = (true, None);
                    stays = Some(kept.last());
                }
                _ => {}
            }
        }
        if let Kind::Event(Told::Agreement(agreement::Event::Log(event))) = &record.kind
            && !self.standings.of(at).is_down()
        {
            stays = self.kept.entry(at).or_default().hear(event).or(stays);
        }
        stays.map(|stays| Changed { at, stays })
    }

    /// The log of a process; nothing where none was told of.
    pub fn of(&self, at: ProcessId) -> Option<&Kept> {
        self.kept.get(&at)
    }

    /// The highest index at which anybody has an entry.
    pub fn last(&self) -> u64 {
        self.kept.values().map(Kept::last).max().unwrap_or(0)
    }

    /// Whether nobody has ever had an entry.
    pub fn is_empty(&self) -> bool {
        self.last() == 0
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::service::log::{Content, Payload};

    use super::*;

    const P1: ProcessId = ProcessId(0);

    fn told(event: Event) -> Kind {
        Kind::Event(Told::Agreement(event.into()))
    }

    fn entry(term: u64) -> Entry {
        Entry { term, content: Content::Nothing }
    }

    fn stored(index: u64, term: u64) -> Kind {
        told(Event::Stored { index, entry: entry(term) })
    }

    /// The terms of P1's entries, what is committed, and what the last record changed.
    fn after(kinds: &[Kind]) -> (Vec<u64>, u64, Option<u64>) {
        let mut logs = Logs::default();
        let mut last = None;
        for (time, kind) in kinds.iter().enumerate() {
            last = logs.read(&Record::new(time as u64, P1, kind.clone()));
        }
        let kept = logs.of(P1).cloned().unwrap_or_default();
        let terms = kept.entries.iter().map(|entry| entry.term).collect();
        (terms, kept.committed, last.map(|changed| changed.stays))
    }

    #[test]
    fn what_is_dropped_is_gone_and_what_is_stored_is_there() {
        let story = [stored(1, 1), stored(2, 1), stored(3, 2)];
        assert_eq!(after(&story), (vec![1, 1, 2], 0, Some(2)));
        let dropped = [&story[..], &[told(Event::Dropped { from: 2 })]].concat();
        assert_eq!(after(&dropped), (vec![1], 0, Some(1)));
        let again = [&dropped[..], &[stored(2, 3)]].concat();
        assert_eq!(after(&again), (vec![1, 3], 0, Some(1)));
        let committed = told(Event::Committed { index: 1, entry: entry(1) });
        assert_eq!(after(&[&again[..], &[committed]].concat()), (vec![1, 3], 1, Some(2)));
    }

    #[test]
    fn a_snapshot_stands_for_the_head_of_a_log() {
        let story = [stored(1, 1), stored(2, 1), stored(3, 2)];
        let compacted = told(Event::Compacted { ticket: 1, index: 2 });
        let short = [&story[..], &[compacted]].concat();
        assert_eq!(after(&short), (vec![2], 0, Some(3)));
        let more = [&short[..], &[stored(4, 2), told(Event::Dropped { from: 4 })]].concat();
        assert_eq!(after(&more), (vec![2], 0, Some(3)));
        let (state, members) = (Payload::from(7), Box::default());
        let restored = told(Event::Restored { index: 5, term: 2, members, state });
        let replaced = [&more[..], std::slice::from_ref(&restored)].concat();
        assert_eq!(after(&replaced), (vec![], 5, Some(5)));
        let again = [&more[..], &[restored, stored(5, 2), stored(6, 3)]].concat();
        assert_eq!(after(&again), (vec![3], 5, Some(5)));
    }

    #[test]
    fn who_is_down_has_what_it_will_come_back_with_and_says_so_again() {
        let committed = told(Event::Committed { index: 1, entry: entry(1) });
        let leading = told(Event::Leading { term: 1 });
        let story = [Kind::Boot, leading, stored(1, 1), committed, Kind::Crash];
        assert_eq!(after(&story), (vec![1], 1, Some(1)));
        let mut logs = Logs::default();
        for kind in &story {
            logs.read(&Record::new(0, P1, kind.clone()));
        }
        let kept = logs.of(P1).cloned().unwrap_or_default();
        assert_eq!((kept.is_down, kept.leads), (true, None));
        let back = [&story[..], &[Kind::Recover]].concat();
        assert_eq!(after(&back), (vec![], 0, Some(0)));
        assert_eq!(after(&[&back[..], &[stored(1, 1)]].concat()), (vec![1], 0, Some(0)));
    }
}
