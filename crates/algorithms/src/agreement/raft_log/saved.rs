//! Persisted state: the term, the vote, the snapshot and the log, saved before any message that
//! depends on them (Figure 3.1).
//!
//! A log changes at both ends. At the end, entries are appended and truncated. At the start, a
//! snapshot replaces entries. A saved change describes both kinds of changes. The parts of the
//! state that a change omits stay as they were saved before.

use alloc::sync::Arc;

use tenure_core::ProcessId;

use super::log::{EntryId, Log};
use super::snapshot::Snapshot;
use super::{RaftReplica, Role};

/// The persisted state, or a change to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stable {
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
    pub(super) term: u64,
    pub(super) voted_for: Option<ProcessId>,
    /// The latest snapshot; `None` if there is none. In a change, also `None` if the latest
    /// snapshot is already saved, or if a later change saves it.
    pub(super) snapshot: Option<Arc<Snapshot>>,
    /// Index and term of the last entry that was removed from the start of the log, because a
    /// snapshot covers it.
    pub(super) head: EntryId,
    /// A complete state contains all log entries after `head`. A change contains only the new
    /// entries at the end of the log. The earlier entries stay as they were saved before.
    pub(super) log: Log,
}

impl RaftReplica {
    /// Returns the change from the saved to the current state; `None` if they are equal.
    pub(super) fn unsaved_change(&self, saved: &Stable) -> Option<Stable> {
        if self.saves_too_little() {
            let now = self.stable_state();
            return (now != *saved).then_some(now);
        }
        let keeps = self.log.common_prefix_end(&saved.log);
        let is_all = keeps == self.persisted_index() && keeps == saved.log.last().index;
        let heads = (self.log.last_compacted(), &self.snapshot) == (saved.head, &saved.snapshot);
        let (term, voted_for) = self.term_and_vote_to_save();
        if is_all && heads && (term, voted_for) == (saved.term, saved.voted_for) {
            return None;
        }
        let mut log = self.log.suffix_after(keeps);
        log.truncate_from(self.persisted_index() + 1);
        Some(Stable {
            term,
            voted_for,
            snapshot: self.snapshot.clone().filter(|now| saved.snapshot.as_ref() != Some(now)),
            head: self.log.last_compacted(),
            log,
        })
    }

    /// Returns the part of the unsaved change that must be saved before the process sends messages.
    /// Returns `None` if nothing is urgent. A new snapshot can be saved later if it replaces only
    /// entries that are already saved.
    pub(super) fn urgent_part_of_change(&self, saved: &Stable) -> Option<Stable> {
        let change = self.unsaved_change(saved)?;
        let is_there = |snapshot: &Arc<Snapshot>| saved.log.contains(snapshot.last);
        if self.saves_too_little()
            || !saved.log.contains(change.head)
            || !change.snapshot.iter().all(is_there)
        {
            return Some(change);
        }
        let is_short = change.log.is_empty() && change.log.last_compacted() == saved.log.last();
        let has_voted = (change.term, change.voted_for) != (saved.term, saved.voted_for);
        let urgent = Stable { snapshot: None, head: saved.head, ..change };
        (!is_short || has_voted).then_some(urgent)
    }

    /// Returns the term and vote that the next save contains.
    pub(super) fn term_and_vote_to_save(&self) -> (u64, Option<ProcessId>) {
        match &self.role {
            Role::Candidate { saved: Some(saved), .. } => *saved,
            _ => (self.term, self.voted_for),
        }
    }
}

impl Stable {
    /// Returns the initial state of each process of a new group that starts from a snapshot of
    /// another group.
    pub fn from_snapshot(snapshot: Snapshot) -> Self {
        let (term, head) = (snapshot.last.term, snapshot.last);
        let snapshot = Some(Arc::new(snapshot));
        Stable { term, voted_for: None, snapshot, head, log: Log::starting_after(head) }
    }

    pub(super) fn apply_change(&mut self, change: Stable) {
        let Stable { term, voted_for, snapshot, head, log } = change;
        (self.term, self.voted_for) = (term, voted_for);
        self.snapshot = snapshot.or(self.snapshot.take());
        // The head never moves backwards, although an older change may contain an earlier head. It
        // never moves beyond the snapshot, so an entry is dropped only if the snapshot covers it.
        // This holds even if the saved data are wrong.
        let stands = self.snapshot.as_ref().map_or(0, |snapshot| snapshot.last.index);
        if head.index > self.head.index && head.index <= stands {
            self.head = head;
            self.log.compact_or_reset_to(head);
        }
        self.log.replace_suffix(&log);
    }
}
