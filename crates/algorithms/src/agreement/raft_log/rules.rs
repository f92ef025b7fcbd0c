//! Rules on which the correctness of Raft depends, each with the variants that break it.

use tenure_core::ProcessSet;
use tenure_core::service::log::Members;

use super::RaftReplica;
use super::config::VariantId;
use super::log::EntryId;
use super::saved::Stable;

impl RaftReplica {
    /// Returns true if a candidate whose log ends at `last` may receive this process's vote
    /// (3.6.1).
    pub(super) fn is_candidate_log_up_to_date(&self, last: EntryId) -> bool {
        if self.has(VariantId::ShorterLog) {
            return true;
        }
        last.is_as_up_to_date_as(self.log.last())
    }

    /// Returns true if the leader may commit all entries up to `index` once a majority stores the
    /// entry at `index`. By the correct rule, the entry must be of the leader's own term (3.6.2). A
    /// variant with a mistake omits this condition.
    pub(super) fn can_commit(&self, index: u64) -> bool {
        if self.has(VariantId::OldTermCommit) {
            return true;
        }
        self.log.entry_id(index).is_some_and(|place| place.term == self.term)
    }

    /// Returns the index from which the log must be truncated after an append. By the correct rule,
    /// the result is `conflict`: the index of the first entry that conflicts with the append, or
    /// `None` if no entry conflicts. `end` is the index of the last entry of the append. Only a
    /// variant with a mistake uses `end`.
    pub(super) fn truncation_index(&self, conflict: Option<u64>, end: u64) -> Option<u64> {
        if self.has(VariantId::EagerTruncation) {
            return conflict.or(Some(end + 1));
        }
        conflict
    }

    /// Returns the highest index at which the leader's own copy counts towards a majority. Entries
    /// that the leader has not persisted do not count.
    pub(super) fn own_match_index(&self) -> u64 {
        if self.has(VariantId::CountedAhead) {
            return self.log.last().index;
        }
        self.persisted_index()
    }

    /// Returns true if this leader may answer a read although no majority has confirmed its
    /// leadership. Only a variant with a mistake permits such a read.
    pub(super) fn can_read_without_quorum(&self) -> bool {
        self.has(VariantId::LonelyRead)
    }

    /// Returns true if the leader knows which entries were committed before its term. The leader
    /// knows these entries once an entry of its own term is committed.
    pub(super) fn has_committed_in_term(&self) -> bool {
        if self.has(VariantId::EarlyRead) {
            return true;
        }
        self.log.entry_id(self.commit).is_some_and(|place| place.term == self.term)
    }

    /// Returns true if this process can ignore a snapshot that ends with the entry `last`. This is
    /// the case if its log contains that entry, or if it knows that all entries up to the index of
    /// `last` are committed.
    pub(super) fn can_skip_snapshot(&self, last: EntryId) -> bool {
        if self.has(VariantId::SnapshotCutsTail) {
            return false;
        }
        self.log.contains(last) || last.index <= self.commit
    }

    pub(super) fn snapshot_members(&self, index: u64) -> Members {
        if self.has(VariantId::ForgottenMembers) {
            return self.initial_members();
        }
        self.members_at(index)
    }

    /// Returns the first membership entry of a change. In the paper, the first entry is the joint
    /// entry. While the joint entry applies, each decision needs a majority of the old voters and a
    /// majority of the new voters.
    pub(super) fn members_of_first_entry(&self, joint: Members) -> Members {
        if self.has(VariantId::OneStepMembership) {
            return Members { outgoing: ProcessSet::new(), ..joint };
        }
        joint
    }

    pub(super) fn requires_catch_up(&self) -> bool {
        !self.has(VariantId::NoCatchUp)
    }

    /// Returns the learners whose copies count towards a majority. By the correct rule, this set is
    /// empty. A variant with a mistake counts learners.
    pub(super) fn learners_counted_in_quorum(&self) -> ProcessSet {
        if self.has(VariantId::CountedLearner) {
            return self.members().learners.clone();
        }
        ProcessSet::new()
    }

    /// Returns true if a variant saves less than the algorithm requires.
    pub(super) fn saves_too_little(&self) -> bool {
        let mistakes = [
            VariantId::ForgottenVote,
            VariantId::ForgottenTerm,
            VariantId::UnsavedEntry,
            VariantId::ForgottenLog,
        ];
        mistakes.into_iter().any(|mistake| self.has(mistake))
    }

    /// Returns the state to save: the term, the vote, the snapshot, and the log up to
    /// [`RaftReplica::persisted_index`]. A variant with a mistake omits a part.
    pub(super) fn stable_state(&self) -> Stable {
        let (term, voted_for) = self.term_and_vote_to_save();
        let mut saved = Stable {
            term,
            voted_for,
            snapshot: self.snapshot.clone(),
            head: self.log.last_compacted(),
            log: self.log.clone(),
        };
        saved.log.truncate_from(self.persisted_index() + 1);
        if self.has(VariantId::ForgottenVote) {
            saved.voted_for = None;
        }
        if self.has(VariantId::ForgottenTerm) {
            saved = Stable { term: saved.log.last().term, voted_for: None, ..saved };
        }
        if self.has(VariantId::UnsavedEntry) {
            saved.log.truncate_from(saved.log.last().index);
        }
        if self.has(VariantId::ForgottenLog) {
            saved.log.truncate_from(saved.log.first_index());
        }
        saved
    }
}
