//! Processes that take no further part: removed processes, and processes that lost acknowledged
//! entries.
//!
//! **Removal.** A leader replicates its log only to the members of its latest membership (4.1). So
//! a removed process does not receive the entry that removes it. It would wait for a leader forever
//! and keep its clients waiting. With the variant `noticing`, the leader notifies the process when
//! that entry is committed. A process that was down or partitioned at that time is notified later:
//! a voter when it requests a vote, and a process without a vote when it asks whether it is a
//! member. The notice is sent only if the log of the process ends before the entry that removes the
//! process. A longer log may contain a later entry that added the process again.
//!
//! **Lost entries.** A process may lose entries that it has acknowledged: its disk dropped a flush,
//! or its directory was replaced by an older copy. A leader of the same term would wait for the
//! process forever. The leader does not send the lost entries again, because the process's
//! rejection could also be a delayed message from before the acknowledgement. Nor does the leader
//! step down, because the process's responses count towards a quorum. With `noticing`, each message
//! of the leader to a process contains the highest index that the process has acknowledged. Within
//! a term, a process never removes entries that it has acknowledged to its leader. So a process
//! whose log ends before the acknowledged index has lost entries, even if messages are delayed,
//! repeated or lost. The process takes no further part, because its lost copies were counted and it
//! may have lost its vote as well. It no longer responds, so no leader counts it. If the leader has
//! changed since, the loss is not detected: a new leader does not know which entries the process
//! acknowledged to earlier leaders.

use tenure_core::service::log::Event;
use tenure_core::{Effects, ProcessId};

use super::config::VariantId;
use super::log::EntryId;
use super::members::MembershipEntry;
use super::message::Message;
use super::replication::FollowerProgress;
use super::{RaftReplica, Role, Timer};

impl RaftReplica {
    /// Returns true if this process is disabled. A process that has lost acknowledged entries is
    /// disabled: it takes no part in the algorithm any more.
    pub(super) fn is_disabled(&self) -> bool {
        matches!(self.role, Role::Disabled)
    }

    /// Returns the value of the field `acked` in the next message to a follower. With the variant
    /// `noticing`, the value is the last index at which the follower's log is known to match.
    /// Otherwise the value is 0.
    pub(super) fn acked_index_to_send(&self, progress: &FollowerProgress) -> u64 {
        if self.has(VariantId::Noticing) { progress.match_index } else { 0 }
    }

    /// Disables this process and returns true if its log ends before `acked`, an index that it has
    /// acknowledged in this term. Otherwise returns false.
    pub(super) fn disable_if_entries_lost(
        &mut self,
        acked: u64,
        fx: &mut impl Effects<Self>,
    ) -> bool {
        let last = self.log.last().index;
        if acked <= last {
            return false;
        }
        self.become_follower(fx);
        fx.cancel_timer(Timer::Election);
        self.role = Role::Disabled;
        fx.emit(Event::Forgotten { last, acknowledged: acked });
        true
    }

    /// Notifies the processes that the latest membership entry removes, if this entry was committed
    /// after the index `previous_commit`. Does nothing without the variant `noticing`, or if the
    /// entry is a joint entry.
    pub(super) fn notify_removed_processes(
        &self,
        previous_commit: u64,
        fx: &mut impl Effects<Self>,
    ) {
        let MembershipEntry { at, members } = &self.membership;
        let is_new = (previous_commit + 1..=self.commit).contains(at) && !members.is_joint();
        if !is_new || !self.has(VariantId::Noticing) {
            return;
        }
        let stay = members.all();
        for process in &self.membership_entry_at(at - 1).members.all() {
            if !stay.contains(process) && process != self.group.me() {
                fx.send(process, Message::Removed { at: *at });
            }
        }
    }

    /// Sends a notice of removal to `from` and returns true, if the latest membership entry is
    /// committed and excludes `from`, and the log of `from` lacks this entry. Otherwise, and always
    /// without the variant `noticing`, returns false. `last` is the last entry in the log of
    /// `from`.
    pub(super) fn notify_if_removed(
        &self,
        from: ProcessId,
        last: EntryId,
        fx: &mut impl Effects<Self>,
    ) -> bool {
        let is_removed =
            self.committed_removal_of(from).is_some_and(|it| !last.is_as_up_to_date_as(it));
        if is_removed {
            fx.send(from, Message::Removed { at: self.membership.at });
        }
        is_removed
    }

    /// Returns the ID of the latest membership entry, if the entry is committed and excludes
    /// `process`. Otherwise returns `None`.
    fn committed_removal_of(&self, process: ProcessId) -> Option<EntryId> {
        let MembershipEntry { at, members } = &self.membership;
        let is_settled = *at <= self.commit && !members.is_joint();
        if !self.has(VariantId::Noticing) || !is_settled || members.all().contains(process) {
            return None;
        }
        // If a snapshot has replaced the removal entry, returns the last entry of the snapshot
        // instead. No entry between these two adds the process again, because the membership has
        // not changed since the removal.
        Some(self.log.entry_id(*at).unwrap_or(self.log.last_compacted()))
    }

    /// Asks the voters whether this process, which has no vote, is still a member. Sends nothing if
    /// this process was never a member, or without the variant `noticing`.
    pub(super) fn ask_whether_still_member(&self, fx: &mut impl Effects<Self>) {
        let was_member = self.membership.at > 0 || self.members().all().contains(self.group.me());
        if self.has(VariantId::Noticing) && was_member {
            fx.broadcast(&self.other_voters(), Message::AskMembership { last: self.log.last() });
        }
    }

    /// Responds to the process `from`, which asks whether it is still a member. If `from` was
    /// removed and its log lacks the entry that removed it, sends a notice of removal. If the log
    /// of `from` contains that entry and this process leads, announces that the entry is committed.
    /// In all other cases, sends nothing.
    pub(super) fn on_ask_membership(
        &self,
        from: ProcessId,
        last: EntryId,
        fx: &mut impl Effects<Self>,
    ) {
        if self.notify_if_removed(from, last, fx) || !matches!(self.role, Role::Leader(_)) {
            return;
        }
        if let Some(last) = self.committed_removal_of(from) {
            fx.send(from, Message::Committed { term: self.term, last });
        }
    }

    /// Handles a notice of removal: the committed membership at `removal_index` excludes this
    /// process. Reports the removal to the user, unless the log of this process has a later
    /// membership entry or this process already knows of the removal.
    ///
    /// The log may already contain the entry that removes this process, without this process
    /// knowing that it is committed. The sender cannot always announce that commit: it may have
    /// replaced the entry by a snapshot, or may have a later membership. So the notice itself
    /// reports the removal.
    pub(super) fn on_removed(&self, removal_index: u64, fx: &mut impl Effects<Self>) {
        let (at, me) = (self.membership.at, self.group.me());
        let is_new = if self.members().all().contains(me) {
            removal_index > at
        } else {
            let is_unconfirmed = at > self.commit && removal_index >= at;
            is_unconfirmed && self.membership_entry_at(at - 1).members.all().contains(me)
        };
        if is_new {
            fx.emit(Event::Removed { at: removal_index });
        }
    }
}
