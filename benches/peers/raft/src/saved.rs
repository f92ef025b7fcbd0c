//! Saved state of a process of `raft`. As in `raft-log`, a process saves its whole state once, and
//! afterwards only changes.

use raft::eraftpb;
use raft::storage::MemStorage;
use raft::{GetEntriesContext, Storage};
use serde::{Deserialize, Serialize};

/// Stable state, or a change of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Saved {
    pub(crate) term: u64,
    pub(crate) vote: u64,
    /// Number of entries at the beginning of the saved log that a change keeps. The entries of the
    /// change follow them.
    keeps: u64,
    pub(crate) entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Entry {
    pub(crate) term: u64,
    #[serde(with = "serde_bytes")]
    pub(crate) data: Vec<u8>,
}

impl Saved {
    /// Returns the state of a storage, without the first `keeps` entries of its log.
    pub(crate) fn behind(keeps: u64, storage: &MemStorage) -> Self {
        let state = storage.initial_state().expect("the storage is in memory").hard_state;
        let entries = entries(storage, keeps);
        let entries =
            entries.into_iter().map(|entry| Entry { term: entry.term, data: entry.data.to_vec() });
        Saved { term: state.term, vote: state.vote, keeps, entries: entries.collect() }
    }

    /// Returns the change since this state was saved. The function compares the logs from the end.
    /// If two states of one log have an entry of the same term at the same index, they are equal up
    /// to this index.
    pub(crate) fn unsaved(&self, storage: &MemStorage) -> Option<Self> {
        let state = storage.initial_state().expect("the storage is in memory").hard_state;
        let last = storage.last_index().expect("the storage is in memory");
        let mut keeps = last.min(self.entries.len() as u64);
        let term = |index| storage.term(index).expect("the storage is in memory");
        while keeps > 0 && self.entries[keeps as usize - 1].term != term(keeps) {
            keeps -= 1;
        }
        let same = (state.term, state.vote) == (self.term, self.vote);
        let is_saved = same && keeps == last && keeps == self.entries.len() as u64;
        (!is_saved).then(|| Saved::behind(keeps, storage))
    }

    pub(crate) fn apply_change(&mut self, change: Saved) {
        (self.term, self.vote) = (change.term, change.vote);
        self.entries.truncate(usize::try_from(change.keeps).unwrap_or(usize::MAX));
        self.entries.extend(change.entries);
    }

    pub(crate) fn restore(self, storage: &MemStorage) {
        let entries: Vec<eraftpb::Entry> = (1..)
            .zip(self.entries)
            .map(|(index, saved)| {
                let mut entry = eraftpb::Entry::default();
                (entry.index, entry.term, entry.data) = (index, saved.term, saved.data.into());
                entry
            })
            .collect();
        let mut core = storage.wl();
        core.append(&entries).expect("consecutive entries");
        let mut state = eraftpb::HardState::default();
        (state.term, state.vote) = (self.term, self.vote);
        core.set_hardstate(state);
    }
}

/// Returns the stored entries after the first `behind` ones.
pub(crate) fn entries(storage: &MemStorage, behind: u64) -> Vec<eraftpb::Entry> {
    let end = storage.last_index().expect("the storage is in memory") + 1;
    if behind + 1 >= end {
        return Vec::new();
    }
    let context = GetEntriesContext::empty(false);
    storage.entries(behind + 1, end, None, context).expect("the storage is in memory")
}
