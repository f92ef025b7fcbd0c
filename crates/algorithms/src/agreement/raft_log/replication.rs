//! Log replication (3.5).
//!
//! **Why logs match.** An append carries the index and term of the entry before the new ones. A
//! follower accepts the append only if its log contains that entry. By induction, everything before
//! it is equal too. A log is truncated only at an entry whose term differs from the term of the
//! leader's entry at the same index. The entries of a late or repeated message are already present,
//! so the message truncates nothing.
//!
//! The leader sends new entries to a responsive follower immediately, several messages ahead of the
//! responses. After a rejection it probes with one message at a time to find where the logs
//! diverge. The follower reports its term at that index and the first index of that term, so each
//! probe skips a whole term. If a message is lost, the follower rejects the next heartbeat, because
//! the heartbeat names a preceding entry that the follower lacks.
//!
//! **Ahead** (10.2.1): a leader may send an entry before persisting it, so that all disks write in
//! parallel. It persists the entry in the next step, and counts its own copy only from then on. If
//! the leader crashes before that step, it loses its copy of the entry. But it never leads in that
//! term again, so no second entry exists with the same term and index.
//!
//! **Heartbeats**: with this variant, the leader also sends a separate message to each follower
//! that has not responded since the last heartbeat. The follower responds immediately. Appends wait
//! for disks and queue behind large entries. These messages do not, so a slow disk does not depose
//! a leader. Reads count these responses as confirmations of the leadership. This is safe: a read
//! only requires that no majority had voted in a later term, and votes are saved before they are
//! sent. A leader sends such messages only after a follower has acknowledged entries of its term.
//! By then the leader's own vote is saved, so it cannot lead this term again.
//!
//! **Together**: entries proposed at the same time are sent in one message and acknowledged by one
//! response. The leader sends the message in its next step, which a timer without delay starts.
//! This is as safe as if the entries had been proposed in that step. The same step announces the
//! commit index to followers that receive no entry.

use alloc::boxed::Box;
use alloc::vec::Vec;

use tenure_core::service::log::{Content, DeclineReason, Entry, Event};
use tenure_core::{Delay, Effects, ProcessId};

use super::config::VariantId;
use super::log::EntryId;
use super::message::Message;
use super::snapshot::SnapshotTransfer;
use super::{Leadership, RaftReplica, Role, Timer};

/// Upper bound on payload bytes in one append. A single larger entry is sent in an append of its
/// own. With its overhead, an append within this bound is well below 1 MiB, the default limit of a
/// transport. A transport drops longer messages.
const BATCH_BYTES: usize = 1 << 19;

/// State of the replication to one follower, at the leader.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct FollowerProgress {
    /// Index up to which the follower's log is known to match the leader's log (`matchIndex` in the
    /// paper).
    pub(super) match_index: u64,
    /// Index of the next entry to send to the follower (`nextIndex` in the paper).
    pub(super) next_index: u64,
    pub(super) state: ReplicationState,
    /// Latest round of leadership confirmation to which the follower has responded.
    pub(super) round: u64,
    /// True if the follower responded to an append since the last heartbeat. Always true unless
    /// [`VariantId::Heartbeats`] is on.
    pub(super) is_responsive: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ReplicationState {
    /// The leader does not know yet where the follower's log differs from its own log, and sends
    /// one message at a time. `is_sent` is true while a message is in flight.
    Probe { is_sent: bool },
    /// The leader sends several messages without waiting for responses, up to the limit of entries
    /// in flight.
    Replicate,
    /// The leader sends the snapshot, because it has compacted entries that the follower needs.
    Snapshot(Box<SnapshotTransfer>),
}

impl FollowerProgress {
    /// Returns the initial state for a follower whose log is unknown. `last_index` is the index of
    /// the leader's last entry.
    pub(super) fn new(last_index: u64) -> Self {
        FollowerProgress {
            match_index: 0,
            next_index: last_index + 1,
            state: ReplicationState::Probe { is_sent: false },
            round: 0,
            is_responsive: true,
        }
    }

    pub(super) fn has_match_up_to(&self, index: u64) -> bool {
        self.match_index >= index
    }
}

impl RaftReplica {
    pub(super) fn propose(&mut self, ticket: u64, content: Content, fx: &mut impl Effects<Self>) {
        if self.is_handing_over() {
            return self.decline(ticket, DeclineReason::HandingOver, fx);
        }
        let Role::Leader(Leadership { proposed, .. }) = &mut self.role else {
            return self.decline(ticket, DeclineReason::NotLeading, fx);
        };
        if proposed.len() >= self.config.max_uncommitted {
            return self.decline(ticket, DeclineReason::Full, fx);
        }
        proposed.push_back((self.log.last().index + 1, ticket));
        let entry = Entry { term: self.term, content };
        self.append_to_own_log(entry, fx);
        self.maybe_commit(fx);
        if !self.has(VariantId::Together) {
            self.broadcast_append(fx);
        }
    }

    /// Sends each follower the entries that were proposed since this timer last fired. If a
    /// follower needs no entry and the commit index has advanced, sends only the commit index. If
    /// some entries are not persisted yet, starts a timer to persist them.
    pub(super) fn on_send_timer(&mut self, fx: &mut impl Effects<Self>) {
        let Role::Leader(Leadership { has_unannounced_commit, ahead, .. }) = &mut self.role else {
            return;
        };
        let (announces, stores) = (core::mem::take(has_unannounced_commit), *ahead > 0);
        for follower in &self.replication_targets() {
            if !self.maybe_send_append(follower, fx) && announces {
                self.announce_commit_to(follower, fx);
            }
        }
        if stores {
            fx.set_timer(Timer::Store, Delay::ZERO);
        }
    }

    pub(super) fn broadcast_append(&mut self, fx: &mut impl Effects<Self>) {
        for follower in &self.replication_targets() {
            self.maybe_send_append(follower, fx);
        }
    }

    /// Appends an entry as the leader. With the variant `ahead`, a leader with followers persists
    /// the entry in a later step.
    pub(super) fn append_to_own_log(&mut self, entry: Entry, fx: &mut impl Effects<Self>) {
        let has_others = !self.replication_targets().is_empty();
        if has_others && self.has(VariantId::Together) {
            fx.set_timer(Timer::Send, Delay::ZERO);
        }
        match has_others && self.has(VariantId::Ahead) {
            true => self.append_unpersisted(entry, fx),
            false => self.append_entry(entry, fx),
        }
    }

    fn append_unpersisted(&mut self, entry: Entry, fx: &mut impl Effects<Self>) {
        let Role::Leader(Leadership { ahead, .. }) = &mut self.role else { return };
        *ahead += 1;
        if *ahead == 1 && !self.config.variants.has(VariantId::Together) {
            fx.set_timer(Timer::Store, Delay::ZERO);
        }
        self.log.push(entry);
    }

    /// Persists a leader's entries, which then count towards commitment, or a candidate's vote.
    pub(super) fn on_store_timer(&mut self, fx: &mut impl Effects<Self>) {
        self.persist_all(fx);
        self.maybe_commit(fx);
    }

    /// Persists everything that is not persisted yet: all entries of a leader's log, or the vote of
    /// a candidate. The data is saved at the end of this step, and treated as saved from now on.
    pub(super) fn persist_all(&mut self, fx: &mut impl Effects<Self>) {
        let first = self.persisted_index() + 1;
        if let Role::Candidate { saved, .. } = &mut self.role
            && saved.take().is_some()
        {
            fx.cancel_timer(Timer::Store);
        }
        let Role::Leader(Leadership { ahead, .. }) = &mut self.role else { return };
        if core::mem::take(ahead) == 0 {
            return;
        }
        fx.cancel_timer(Timer::Store);
        for (index, entry) in (first..).zip(self.log.entries_from(first, u64::MAX, usize::MAX)) {
            fx.emit(Event::Stored { index, entry });
        }
    }

    /// Returns the index of the last log entry that will be persisted at the end of this step.
    pub(super) fn persisted_index(&self) -> u64 {
        let ahead = match &self.role {
            Role::Leader(Leadership { ahead, .. }) => *ahead,
            _ => 0,
        };
        self.log.last().index - ahead
    }

    /// Sends an append to each follower, even without entries. Probes pending snapshot transfers.
    pub(super) fn broadcast_heartbeat(&mut self, fx: &mut impl Effects<Self>) {
        fx.set_timer(Timer::Heartbeat, self.config.heartbeat_interval);
        for follower in &self.replication_targets() {
            self.send_heartbeat(follower, fx);
            match &self.role {
                Role::Leader(Leadership { peers, .. })
                    if matches!(peers[follower.index()].state, ReplicationState::Snapshot(_)) =>
                {
                    self.probe_snapshot_progress(follower, fx);
                }
                _ => self.send_append(follower, fx),
            }
        }
    }

    fn send_heartbeat(&mut self, to: ProcessId, fx: &mut impl Effects<Self>) {
        if !self.config.variants.has(VariantId::Heartbeats) {
            return;
        }
        let Role::Leader(Leadership { peers, reads, .. }) = &mut self.role else { return };
        let is_saved = peers.iter().any(|progress| progress.match_index > 0);
        let is_responsive = core::mem::take(&mut peers[to.index()].is_responsive);
        if is_saved && !is_responsive {
            fx.send(to, Message::Heartbeat { term: self.term, round: reads.confirmation_round() });
        }
    }

    /// Sends new entries to a follower, as many as the replication state and the limit of entries
    /// in flight allow. Returns true if this process has sent a message.
    pub(super) fn maybe_send_append(&mut self, to: ProcessId, fx: &mut impl Effects<Self>) -> bool {
        let mut sent = false;
        while let Role::Leader(Leadership { peers, .. }) = &self.role {
            let progress = &peers[to.index()];
            let waits = match progress.state {
                ReplicationState::Probe { is_sent } => is_sent,
                ReplicationState::Replicate => self.remaining_window(progress) == 0,
                ReplicationState::Snapshot(_) => true,
            };
            if waits || progress.next_index > self.log.last().index {
                break;
            }
            self.send_append(to, fx);
            sent = true;
        }
        sent
    }

    fn remaining_window(&self, progress: &FollowerProgress) -> u64 {
        assert!(progress.next_index > progress.match_index, "next index must exceed match index");
        let is_in_flight = progress.next_index - 1 - progress.match_index;
        self.config.max_in_flight_entries.saturating_sub(is_in_flight)
    }

    /// Sends the next entries to a follower. If there is no new entry, the message serves as a
    /// heartbeat.
    fn send_append(&mut self, to: ProcessId, fx: &mut impl Effects<Self>) {
        let Role::Leader(Leadership { peers, reads, .. }) = &self.role else { return };
        let (progress, round) = (&peers[to.index()], reads.confirmation_round());
        let acked = self.acked_index_to_send(progress);
        let max_entries = self.config.max_batch_entries;
        let most = match progress.state {
            ReplicationState::Replicate => max_entries.min(self.remaining_window(progress)),
            ReplicationState::Probe { .. } | ReplicationState::Snapshot(_) => max_entries,
        };
        let first = progress.next_index;
        let Some(prev) = self.log.entry_id(first - 1) else {
            return self.start_snapshot_transfer(to, fx);
        };
        let entries = self.log.entries_from(first, most, BATCH_BYTES);
        let (term, commit, sent) = (self.term, self.commit, entries.len() as u64);
        if let Role::Leader(Leadership { peers, .. }) = &mut self.role {
            let progress = &mut peers[to.index()];
            match &mut progress.state {
                ReplicationState::Probe { is_sent } => *is_sent = true,
                ReplicationState::Replicate => progress.next_index += sent,
                ReplicationState::Snapshot(_) => {}
            }
        }
        fx.send(to, Message::Append { term, prev, entries, commit, round, acked });
    }

    pub(super) fn on_append(
        &mut self,
        prev: EntryId,
        entries: Vec<Entry>,
        commit: u64,
        round: u64,
        fx: &mut impl Effects<Self>,
    ) -> Message {
        let term = self.term;
        // Entries that a snapshot has replaced are committed, so the log of any leader contains
        // them.
        let is_compacted = prev.index < self.log.last_compacted().index;
        if !is_compacted && !self.log.contains(prev) {
            let conflict = self.conflict_hint(prev);
            return Message::Rejected { term, prev: prev.index, conflict, round };
        }
        let end = prev.index + entries.len() as u64;
        let indexed = || (prev.index + 1..).zip(&entries);
        let differs = |(index, entry): &(u64, &Entry)| {
            self.log.entry_id(*index).is_some_and(|place| place.term != entry.term)
        };
        let conflict = indexed().find(differs).map(|(index, _)| index);
        if let Some(from) =
            self.truncation_index(conflict, end).filter(|from| *from <= self.log.last().index)
        {
            self.truncate_log(from, fx);
        }
        let existing = self.log.last().index.saturating_sub(prev.index);
        let new = entries.into_iter().skip(usize::try_from(existing).unwrap_or(usize::MAX));
        new.for_each(|entry| self.append_entry(entry, fx));
        self.commit_to(commit.min(end), fx);
        Message::Appended { term, match_index: end, round }
    }

    /// Returns the index and term of the earliest entry at which this log may differ from the
    /// leader's log. If this log has an entry at the index of `prev`, this is the first entry with
    /// its term. Otherwise, this is the index after the last entry of this log, with term 0.
    fn conflict_hint(&self, prev: EntryId) -> EntryId {
        let after = EntryId { index: self.log.last().index + 1, term: 0 };
        self.log.first_id_with_term_of(prev.index).unwrap_or(after)
    }

    pub(super) fn on_appended(
        &mut self,
        from: ProcessId,
        match_index: u64,
        round: u64,
        fx: &mut impl Effects<Self>,
    ) {
        let last = self.log.last().index;
        let Role::Leader(Leadership { peers, reads, .. }) = &mut self.role else { return };
        if match_index > last || round > reads.confirmation_round() {
            return;
        }
        let progress = &mut peers[from.index()];
        progress.is_responsive = true;
        progress.match_index = progress.match_index.max(match_index);
        progress.next_index = progress.next_index.max(progress.match_index + 1);
        // A snapshot transfer continues until the follower has the snapshot, even if a late
        // response arrives.
        let match_index = progress.match_index;
        let is_incomplete = match &progress.state {
            ReplicationState::Snapshot(transfer) => transfer.is_ahead_of(match_index),
            ReplicationState::Probe { .. } | ReplicationState::Replicate => false,
        };
        if !is_incomplete {
            progress.state = ReplicationState::Replicate;
        }
        self.maybe_commit(fx);
        self.record_response(from, round, fx);
        self.maybe_send_append(from, fx);
        self.maybe_send_timeout_now(from, fx);
    }

    /// Handles the rejection of an append by a follower: the next message to this follower starts
    /// at an earlier index.
    pub(super) fn on_rejected(
        &mut self,
        from: ProcessId,
        prev: u64,
        conflict: EntryId,
        round: u64,
        fx: &mut impl Effects<Self>,
    ) {
        let Role::Leader(Leadership { peers, reads, .. }) = &mut self.role else { return };
        if round > reads.confirmation_round() {
            return;
        }
        let progress = &mut peers[from.index()];
        progress.is_responsive = true;
        let is_sent = match progress.state {
            ReplicationState::Probe { .. } => prev.checked_add(1) == Some(progress.next_index),
            ReplicationState::Replicate => prev < progress.next_index,
            ReplicationState::Snapshot(_) => false,
        };
        if is_sent && prev > progress.match_index {
            let ours = self.log.last_of_term(conflict.term, prev).filter(|_| conflict.term > 0);
            let next = ours.map_or(conflict.index, |place| place.index + 1);
            progress.next_index = next.clamp(progress.match_index + 1, prev);
            progress.state = ReplicationState::Probe { is_sent: false };
        }
        self.record_response(from, round, fx);
        self.maybe_send_append(from, fx);
    }

    pub(super) fn record_response(
        &mut self,
        from: ProcessId,
        round: u64,
        fx: &mut impl Effects<Self>,
    ) {
        let Role::Leader(Leadership { peers, responded, reads, .. }) = &mut self.role else {
            return;
        };
        if round > reads.confirmation_round() {
            return;
        }
        responded.insert(from);
        let progress = &mut peers[from.index()];
        progress.round = progress.round.max(round);
        self.answer_confirmed_reads(fx);
    }
}
