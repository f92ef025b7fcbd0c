//! What survives a crash: the term, the vote, the snapshot and the log, which are saved before
//! anything is said that rests on them (Figure 3.1).
//!
//! A log changes at its end, where entries are added and cut, and at its head, for which a snapshot
//! stands from some moment on. A change says both; what it does not say stays as it was saved.

use alloc::sync::Arc;

use tenure_core::ProcessId;

use super::log::{Log, Place};
use super::snapshot::Snapshot;
use super::{RaftLog, Role};

/// What survives a crash, or a change to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stable {
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
    pub(super) term: u64,
    pub(super) voted_for: Option<ProcessId>,
    /// The last snapshot. Of a change: if it is another than the one that is saved.
    pub(super) snapshot: Option<Arc<Snapshot>>,
    /// Up to where entries are dropped at the head.
    pub(super) head: Place,
    /// All entries behind the head. Of a change: what comes behind those that stay as they are.
    pub(super) log: Log,
}

impl RaftLog {
    /// By what change this becomes what is saved; nothing where it is.
    pub(super) fn change(&self, saved: &Stable) -> Option<Stable> {
        if self.forgets() {
            let now = self.saved();
            return (now != *saved).then_some(now);
        }
        let keeps = self.log.alike(&saved.log);
        let is_all = keeps == self.durable() && keeps == saved.log.last().index;
        let heads = (self.log.base(), &self.snapshot) == (saved.head, &saved.snapshot);
        let (term, voted_for) = self.saved_vote();
        if is_all && heads && (term, voted_for) == (saved.term, saved.voted_for) {
            return None;
        }
        let mut log = self.log.part(keeps);
        log.drop_from(self.durable() + 1);
        Some(Stable {
            term,
            voted_for,
            snapshot: self.snapshot.clone().filter(|now| saved.snapshot.as_ref() != Some(now)),
            head: self.log.base(),
            log,
        })
    }

    /// The same but for a snapshot of what is saved already: who crashes before it is saved has
    /// those entries, and owes nobody to be without them.
    pub(super) fn urgent_change(&self, saved: &Stable) -> Option<Stable> {
        let change = self.change(saved)?;
        let is_there = |snapshot: &Arc<Snapshot>| saved.log.has(snapshot.last);
        if self.forgets() || !saved.log.has(change.head) || !change.snapshot.iter().all(is_there) {
            return Some(change);
        }
        let is_short = change.log.is_empty() && change.log.base() == saved.log.last();
        let has_voted = (change.term, change.voted_for) != (saved.term, saved.voted_for);
        let urgent = Stable { snapshot: None, head: saved.head, ..change };
        (!is_short || has_voted).then_some(urgent)
    }

    /// The term and the vote that are saved at the end of a step.
    pub(super) fn saved_vote(&self) -> (u64, Option<ProcessId>) {
        match &self.role {
            Role::Candidate { saved: Some(saved), .. } => *saved,
            _ => (self.term, self.voted_for),
        }
    }
}

impl Stable {
    /// What each process of a new group begins with that goes on from what another had come to.
    pub fn of_snapshot(snapshot: Snapshot) -> Self {
        let (term, head) = (snapshot.last.term, snapshot.last);
        let snapshot = Some(Arc::new(snapshot));
        Stable { term, voted_for: None, snapshot, head, log: Log::behind(head) }
    }

    /// Becomes what it is after a change.
    pub(super) fn amend(&mut self, change: Stable) {
        let Stable { term, voted_for, snapshot, head, log } = change;
        (self.term, self.voted_for) = (term, voted_for);
        self.snapshot = snapshot.or(self.snapshot.take());
        // A change that was made before the head was dropped says where that was then. Nothing is
        // dropped that no snapshot stands for, whatever a disk says.
        let stands = self.snapshot.as_ref().map_or(0, |snapshot| snapshot.last.index);
        if head.index > self.head.index && head.index <= stands {
            self.head = head;
            self.log.drop_to(head);
        }
        self.log.amend(&log);
    }
}
