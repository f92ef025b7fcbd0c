//! The rules that the proof rests on, each with the mistakes that are made about it.

use tenure_core::ProcessSet;
use tenure_core::service::log::Members;

use super::RaftLog;
use super::config::Switch;
use super::log::Place;
use super::saved::Stable;

impl RaftLog {
    /// Whether a candidate whose log ends there may have our vote (3.6.1).
    pub(super) fn heeds_log(&self, last: Place) -> bool {
        if self.has(Switch::ShorterLog) {
            return true;
        }
        last.is_as_up_to_date_as(self.log.last())
    }

    /// Whether what a majority has up to here is committed: only if its last entry is of the
    /// leader's own term (3.6.2).
    pub(super) fn commits_by_counting(&self, index: u64) -> bool {
        if self.has(Switch::OldTermCommit) {
            return true;
        }
        self.log.place(index).is_some_and(|place| place.term == self.term)
    }

    /// Where a log is cut when a message had entries up to `end`, of which those before `conflict`
    /// were there: only where they differ.
    pub(super) fn cut(&self, conflict: Option<u64>, end: u64) -> Option<u64> {
        if self.has(Switch::EagerTruncation) {
            return conflict.or(Some(end + 1));
        }
        conflict
    }

    /// Up to where a leader counts its own copy: what it has sent ahead is not there yet.
    pub(super) fn counts_own(&self) -> u64 {
        if self.has(Switch::CountedAhead) {
            return self.log.last().index;
        }
        self.durable()
    }

    /// Whether a read may be answered without a majority that says who leads.
    pub(super) fn reads_alone(&self) -> bool {
        self.has(Switch::LonelyRead)
    }

    /// Whether a leader knows all that was committed before it: once an entry of its own is.
    pub(super) fn knows_commit(&self) -> bool {
        if self.has(Switch::EarlyRead) {
            return true;
        }
        self.log.place(self.commit).is_some_and(|place| place.term == self.term)
    }

    /// Whether a log needs no snapshot that ends there: it has that entry, or everything of it is
    /// committed here.
    pub(super) fn needs_no_snapshot(&self, last: Place) -> bool {
        if self.has(Switch::SnapshotCutsTail) {
            return false;
        }
        self.log.has(last) || last.index <= self.commit
    }

    /// Who kept the log where a snapshot ends.
    pub(super) fn members_of_snapshot(&self, index: u64) -> Members {
        if self.has(Switch::ForgottenMembers) {
            return self.first_members();
        }
        self.members_at(index)
    }

    /// With which entry a change of members begins: with one that needs both majorities.
    pub(super) fn begins_with(&self, joint: Members) -> Members {
        if self.has(Switch::OneStepMembership) {
            return Members { outgoing: ProcessSet::new(), ..joint };
        }
        joint
    }

    /// Whether who is to vote gets the log first.
    pub(super) fn waits_to_catch_up(&self) -> bool {
        !self.has(Switch::NoCatchUp)
    }

    /// Whose copies count for a majority of the voters, besides their own.
    pub(super) fn counted_besides(&self) -> ProcessSet {
        if self.has(Switch::CountedLearner) {
            return self.members().learners.clone();
        }
        ProcessSet::new()
    }

    /// Whether not all is saved that should be.
    pub(super) fn forgets(&self) -> bool {
        let mistakes = [
            Switch::ForgottenVote,
            Switch::ForgottenTerm,
            Switch::UnsavedEntry,
            Switch::ForgottenLog,
        ];
        mistakes.into_iter().any(|mistake| self.has(mistake))
    }

    /// What is saved: the term, the vote, the snapshot and every entry that was answered for.
    pub(super) fn saved(&self) -> Stable {
        let (term, voted_for) = self.saved_vote();
        let mut saved = Stable {
            term,
            voted_for,
            snapshot: self.snapshot.clone(),
            head: self.log.base(),
            log: self.log.clone(),
        };
        saved.log.drop_from(self.durable() + 1);
        if self.has(Switch::ForgottenVote) {
            saved.voted_for = None;
        }
        if self.has(Switch::ForgottenTerm) {
            saved = Stable { term: saved.log.last().term, voted_for: None, ..saved };
        }
        if self.has(Switch::UnsavedEntry) {
            saved.log.drop_from(saved.log.last().index);
        }
        if self.has(Switch::ForgottenLog) {
            saved.log.drop_from(saved.log.base().index + 1);
        }
        saved
    }
}
