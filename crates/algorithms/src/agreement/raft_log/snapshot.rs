//! Log compaction (chapter 5): a snapshot of the state machine replaces the prefix of the log.
//!
//! **Why nothing is lost.** A snapshot covers only committed entries. It records the index and term
//! of the last covered entry, and the membership after this entry. This record answers all later
//! questions about the compacted entries: whether the log contained a certain entry, and which
//! processes vote. Each process takes its own snapshots, because a snapshot needs no agreement.
//!
//! **A follower that lacks compacted entries** receives the snapshot in chunks and reports how many
//! bytes it has. Only a lost chunk is sent again. A follower that already has the last entry of the
//! snapshot needs no snapshot: its log matches the leader's log up to that entry (*log matching*).
//! The follower keeps its later entries, because the leader may have counted them. If the
//! follower's log lacks that entry, the snapshot replaces the whole log. In this case, the
//! follower's entries from the last index of the snapshot on belong to another history and are not
//! committed.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::num::NonZeroU64;

use tenure_core::service::log::{DeclineReason, Event, Members, Payload};
use tenure_core::{Effects, ProcessId};

use super::config::Config;
use super::log::EntryId;
use super::message::{Message, SnapshotChunk};
use super::replication::ReplicationState;
use super::{Leadership, RaftReplica, Role};

/// Maximum payload, in bytes, of the entries that the log retains although a snapshot covers them.
/// The log retains these entries for slow followers.
const TRAILING_BYTES: usize = 16 << 20;

/// A snapshot: the state of the user's state machine after all entries up to `last`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Snapshot {
    /// Last entry that the snapshot covers: `lastIndex`, `lastTerm`.
    pub last: EntryId,
    /// Membership at the last entry that the snapshot covers: `lastConfig`.
    pub members: Members,
    /// Serialized state of the user's state machine.
    pub state: Payload,
}

/// Progress of sending a snapshot to one follower.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct SnapshotTransfer {
    snapshot: Arc<Snapshot>,
    /// Offset of the next chunk: the number of bytes that the follower has, as far as known.
    offset: u64,
    /// True if the next chunk is probably in flight.
    is_in_flight: bool,
}

impl SnapshotTransfer {
    /// Returns true if the snapshot covers entries after `index`.
    pub(super) fn is_ahead_of(&self, index: u64) -> bool {
        self.snapshot.last.index > index
    }
}

/// The chunks of a snapshot that this process has received so far.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct IncomingSnapshot {
    last: EntryId,
    bytes: Vec<u8>,
}

impl RaftReplica {
    /// Returns the last index that the snapshot of this process covers; 0 without a snapshot.
    pub(super) fn snapshot_index(&self) -> u64 {
        self.snapshot.as_ref().map_or(0, |snapshot| snapshot.last.index)
    }

    pub(super) fn compact(
        &mut self,
        ticket: u64,
        index: u64,
        state: Payload,
        fx: &mut impl Effects<Self>,
    ) {
        let is_new = index > self.snapshot_index() && index <= self.commit;
        let Some(last) = self.log.entry_id(index).filter(|_| is_new) else {
            return self.decline(ticket, DeclineReason::NotThere, fx);
        };
        let members = self.snapshot_members(index);
        self.snapshot = Some(Arc::new(Snapshot { last, members, state }));
        let trailing = self.log.index_before_trailing_entries(
            index,
            self.config.trailing_entries,
            TRAILING_BYTES,
        );
        let head = self.log.entry_id(trailing);
        head.into_iter().for_each(|head| self.log.compact_or_reset_to(head));
        fx.emit(Event::Compacted { ticket, index });
    }

    /// Asks the user for a snapshot if the sum of the commit index and `snapshot_offset` is a
    /// multiple of `snapshot_interval`.
    pub(super) fn maybe_request_snapshot(&self, fx: &mut impl Effects<Self>) {
        let Config { snapshot_interval: snapshot_after, snapshot_offset: sooner, .. } =
            *self.config;
        let is_time = |after: NonZeroU64| (self.commit + sooner).is_multiple_of(after.get());
        if snapshot_after.is_some_and(is_time) {
            fx.emit(Event::SnapshotNeeded { index: self.commit });
        }
    }

    pub(super) fn start_snapshot_transfer(&mut self, to: ProcessId, fx: &mut impl Effects<Self>) {
        let snapshot = self.snapshot.clone().expect("a log begins later for a snapshot only");
        let sending = SnapshotTransfer { snapshot, offset: 0, is_in_flight: true };
        self.send_piece(to, &sending, true, fx);
        let Role::Leader(Leadership { peers, .. }) = &mut self.role else { return };
        peers[to.index()].state = ReplicationState::Snapshot(Box::new(sending));
    }

    /// Asks a follower how many bytes of the snapshot it has. The leader sends the next chunk when
    /// the follower responds.
    pub(super) fn probe_snapshot_progress(&mut self, to: ProcessId, fx: &mut impl Effects<Self>) {
        let Role::Leader(Leadership { peers, .. }) = &mut self.role else { return };
        let ReplicationState::Snapshot(sending) = &mut peers[to.index()].state else { return };
        sending.is_in_flight = false;
        let sending = sending.clone();
        self.send_piece(to, &sending, false, fx);
    }

    fn send_piece(
        &self,
        to: ProcessId,
        sending: &SnapshotTransfer,
        with_bytes: bool,
        fx: &mut impl Effects<Self>,
    ) {
        let Role::Leader(Leadership { peers, reads, .. }) = &self.role else { return };
        let acked = self.acked_index_to_send(&peers[to.index()]);
        let SnapshotTransfer { snapshot, offset, .. } = sending;
        let bytes = snapshot.state.bytes();
        let from = usize::try_from(*offset).unwrap_or(usize::MAX).min(bytes.len());
        let most = if with_bytes { self.config.snapshot_piece_bytes } else { 0 };
        let end = from.saturating_add(most).min(bytes.len());
        let piece = Box::new(SnapshotChunk {
            last: snapshot.last,
            members: snapshot.members.clone(),
            offset: *offset,
            bytes: Payload::new(&bytes[from..end]),
            size: bytes.len() as u64,
        });
        fx.send(
            to,
            Message::Piece { term: self.term, round: reads.confirmation_round(), acked, piece },
        );
    }

    pub(super) fn on_has_pieces(
        &mut self,
        from: ProcessId,
        last: EntryId,
        received_bytes: u64,
        round: u64,
        fx: &mut impl Effects<Self>,
    ) {
        self.record_response(from, round, fx);
        let Role::Leader(Leadership { peers, .. }) = &mut self.role else { return };
        let ReplicationState::Snapshot(sending) = &mut peers[from.index()].state else { return };
        let is_same_snapshot = sending.snapshot.last == last;
        let is_new = received_bytes > sending.offset || !sending.is_in_flight;
        if !is_same_snapshot
            || !is_new
            || received_bytes > sending.snapshot.state.bytes().len() as u64
        {
            return;
        }
        (sending.offset, sending.is_in_flight) = (received_bytes, true);
        let sending = sending.clone();
        self.send_piece(from, &sending, true, fx);
    }

    pub(super) fn on_piece(
        &mut self,
        piece: SnapshotChunk,
        round: u64,
        fx: &mut impl Effects<Self>,
    ) -> Message {
        let (term, last) = (self.term, piece.last);
        if self.can_skip_snapshot(last) {
            self.incoming = None;
            self.commit_to(last.index, fx);
            return Message::Appended { term, match_index: last.index, round };
        }
        let incoming = self.incoming.take().filter(|incoming| incoming.last == last);
        let mut bytes = incoming.map_or_else(Vec::new, |incoming| incoming.bytes);
        let has = (bytes.len() as u64).checked_sub(piece.offset);
        let new = has.and_then(|has| piece.bytes.bytes().get(usize::try_from(has).ok()?..));
        bytes.extend_from_slice(new.unwrap_or_default());
        let has = bytes.len() as u64;
        if has < piece.size {
            self.incoming = Some(IncomingSnapshot { last, bytes });
            return Message::HasPieces { term, last, has, round };
        }
        self.restore(Snapshot { last, members: piece.members, state: Payload::new(bytes) }, fx);
        Message::Appended { term, match_index: last.index, round }
    }

    fn restore(&mut self, snapshot: Snapshot, fx: &mut impl Effects<Self>) {
        self.log.truncate_from(snapshot.last.index);
        self.log.compact_or_reset_to(snapshot.last);
        self.commit = snapshot.last.index;
        self.snapshot = Some(Arc::new(snapshot));
        self.reload_membership_from_log();
        self.emit_restored(fx);
    }

    pub(super) fn emit_restored(&self, fx: &mut impl Effects<Self>) {
        let Some(snapshot) = &self.snapshot else { return };
        let EntryId { index, term } = snapshot.last;
        let (members, state) = (Box::new(snapshot.members.clone()), snapshot.state.clone());
        fx.emit(Event::Restored { index, term, members, state });
    }
}
