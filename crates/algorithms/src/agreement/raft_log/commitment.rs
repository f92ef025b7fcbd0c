//! Commitment of entries (3.6.2) and its propagation to followers.
//!
//! **Why copies of an entry from an older term do not count.** A majority may store an entry of
//! term 2. Another process may have led in term 3 although none of its entries reached a follower.
//! Its log then ends with an entry of term 3. That process could be elected and overwrite the entry
//! of term 2 (Figure 3.7). The entry of term 2 is safe only once a majority also stores an entry of
//! the leader's *own* term, say term 4. Then the process whose log ends in term 3 is not elected,
//! because the logs of that majority are more up to date.
//!
//! Followers learn the commit index from the next message with entries or the next heartbeat. With
//! the variant `announcing`, the leader sends it immediately in a separate message. The receiver
//! does not respond to this message. Safety does not depend on the message, because the next append
//! repeats the commit index.

use tenure_core::service::log::Event;
use tenure_core::{Delay, Effects, ProcessId};

use super::config::VariantId;
use super::log::EntryId;
use super::message::Message;
use super::replication::ReplicationState;
use super::{Leadership, RaftReplica, Role, Timer};

impl RaftReplica {
    /// Advances the commit index to the highest index that this leader and a majority have
    /// persisted, if [`RaftReplica::can_commit`] permits. Acknowledges the proposals up to the
    /// commit index, continues a membership change, and answers the reads that need not wait any
    /// more. Does nothing if this process does not lead.
    pub(super) fn maybe_commit(&mut self, fx: &mut impl Effects<Self>) {
        let Role::Leader(Leadership { peers, .. }) = &self.role else { return };
        let match_index = |peer: ProcessId| peers[peer.index()].match_index;
        let own = self.own_match_index();
        let index = self.highest_reached_by_quorum(own, match_index).min(own);
        let before = self.commit;
        if self.can_commit(index) {
            self.commit_to(index, fx);
            self.notify_removed_processes(before, fx);
        }
        if self.commit > before && self.has(VariantId::Announcing) {
            self.announce_commit(fx);
        }
        let Role::Leader(Leadership { proposed, .. }) = &mut self.role else { return };
        while let Some((index, ticket)) = proposed.pop_front_if(|(index, _)| *index <= self.commit)
        {
            fx.emit(Event::Acknowledged { ticket, index });
        }
        self.report_completed_change(fx);
        self.advance_membership_change(fx);
        self.answer_confirmed_reads(fx);
    }

    /// Sends the new commit index to the followers without waiting for the next append. With the
    /// variant `together`, the leader sends the index when [`Timer::Send`] fires. The message may
    /// then also contain entries.
    fn announce_commit(&mut self, fx: &mut impl Effects<Self>) {
        let followers = self.replication_targets();
        if self.has(VariantId::Together) && !followers.is_empty() {
            let Role::Leader(Leadership { has_unannounced_commit, .. }) = &mut self.role else {
                return;
            };
            *has_unannounced_commit = true;
            return fx.set_timer(Timer::Send, Delay::ZERO);
        }
        for follower in &followers {
            self.announce_commit_to(follower, fx);
        }
    }

    pub(super) fn announce_commit_to(&self, to: ProcessId, fx: &mut impl Effects<Self>) {
        let Role::Leader(Leadership { peers, .. }) = &self.role else { return };
        let (progress, last) = (&peers[to.index()], self.log.entry_id(self.commit));
        if let Some(last) = last.filter(|last| progress.next_index > last.index)
            && progress.state == ReplicationState::Replicate
        {
            fx.send(to, Message::Committed { term: self.term, last });
        }
    }

    /// Handles a commit announcement from the leader. If the log of this process contains the entry
    /// `last`, the log equals the leader's log up to `last`, and all these entries are committed.
    /// Otherwise this process ignores the announcement, because the leader will send the missing
    /// entries.
    pub(super) fn on_committed(&mut self, last: EntryId, fx: &mut impl Effects<Self>) {
        if self.log.contains(last) {
            self.commit_to(last.index, fx);
        }
    }

    /// Advances the commit index to `index`, but not beyond the end of the log. Reports each newly
    /// committed entry to the user.
    pub(super) fn commit_to(&mut self, index: u64, fx: &mut impl Effects<Self>) {
        while self.commit < index
            && let Some(entry) = self.log.entry(self.commit + 1).cloned()
        {
            self.commit += 1;
            fx.emit(Event::Committed { index: self.commit, entry });
            self.maybe_request_snapshot(fx);
        }
    }
}
