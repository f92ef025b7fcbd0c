//! How a log stays short (chapter 5): what state machines have come to stands for its head.
//!
//! **Why nothing is lost by it.** A snapshot is of what its process was told, so of what is
//! committed, and it says what the last entry was that it stands for and who kept the log there:
//! whatever is asked of the entries that are gone (is this one there? who votes?) is answered from
//! that. Each process makes its own, for it needs nobody to agree to what is committed.
//!
//! **Who lacks the head** is sent a snapshot, a piece at a time, and says how much it has; so a
//! lost piece is sent again, and nothing else. If it has the last entry of the snapshot already,
//! all before it is as in the leader's log (*log matching*), is committed, and needs no snapshot;
//! what comes behind stays, for the leader may have counted it. Only a log without that entry is
//! given up for the snapshot: what it has there or behind it is of another history, which is not
//! committed.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::num::NonZeroU64;

use tenure_core::service::log::{Event, Members, Payload, Reason};
use tenure_core::{Effects, ProcessId};

use super::config::Config;
use super::log::Place;
use super::message::{Message, Piece};
use super::replication::Flow;
use super::{Leadership, RaftLog, Role};

/// How many bytes of users the entries before the end of a snapshot have at most that are kept.
const TRAILING_BYTES: usize = 16 << 20;

/// What stands for all entries up to one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Snapshot {
    /// That entry: `lastIndex`, `lastTerm`.
    pub last: Place,
    /// Who kept the log there: `lastConfig`.
    pub members: Members,
    /// What the user's state machine had come to.
    pub state: Payload,
}

/// A snapshot on its way to a process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sending {
    snapshot: Arc<Snapshot>,
    /// How much of it is there.
    offset: u64,
    /// Whether the next piece is under way, as far as we know.
    under_way: bool,
}

impl Sending {
    /// Whether the snapshot stands for more than a process has that has all up to there.
    pub(super) fn is_ahead_of(&self, index: u64) -> bool {
        self.snapshot.last.index > index
    }
}

/// A snapshot of which not all has come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Arriving {
    last: Place,
    bytes: Vec<u8>,
}

impl RaftLog {
    /// For how much of the log a snapshot stands.
    pub(super) fn compacted(&self) -> u64 {
        self.snapshot.as_ref().map_or(0, |snapshot| snapshot.last.index)
    }

    /// Our user has made a snapshot.
    pub(super) fn compact(
        &mut self,
        ticket: u64,
        index: u64,
        state: Payload,
        fx: &mut impl Effects<Self>,
    ) {
        let is_new = index > self.compacted() && index <= self.commit;
        let Some(last) = self.log.place(index).filter(|_| is_new) else {
            return self.decline(ticket, Reason::NotThere, fx);
        };
        let members = self.members_of_snapshot(index);
        self.snapshot = Some(Arc::new(Snapshot { last, members, state }));
        let trailing = self.log.before_the_last(index, self.config.trailing, TRAILING_BYTES);
        let head = self.log.place(trailing);
        head.into_iter().for_each(|head| self.log.drop_to(head));
        fx.emit(Event::Compacted { ticket, index });
    }

    /// Says that a snapshot would be welcome, whenever so much was committed.
    pub(super) fn want_snapshot(&self, fx: &mut impl Effects<Self>) {
        let Config { snapshot_after, snapshot_sooner: sooner, .. } = *self.config;
        let is_time = |after: NonZeroU64| (self.commit + sooner).is_multiple_of(after.get());
        if snapshot_after.is_some_and(is_time) {
            fx.emit(Event::SnapshotNeeded { index: self.commit });
        }
    }

    /// A leader sends a process the snapshot, as its log does not go back so far.
    pub(super) fn begin_sending(&mut self, to: ProcessId, fx: &mut impl Effects<Self>) {
        let snapshot = self.snapshot.clone().expect("a log begins later for a snapshot only");
        let sending = Sending { snapshot, offset: 0, under_way: true };
        self.send_piece(to, &sending, true, fx);
        let Role::Leader(Leadership { peers, .. }) = &mut self.role else { return };
        peers[to.index()].flow = Flow::Sending(Box::new(sending));
    }

    /// Asks a process how much of the snapshot it has; its answer asks for the next piece.
    pub(super) fn ask_for_pieces(&mut self, to: ProcessId, fx: &mut impl Effects<Self>) {
        let Role::Leader(Leadership { peers, .. }) = &mut self.role else { return };
        let Flow::Sending(sending) = &mut peers[to.index()].flow else { return };
        sending.under_way = false;
        let sending = sending.clone();
        self.send_piece(to, &sending, false, fx);
    }

    fn send_piece(
        &self,
        to: ProcessId,
        sending: &Sending,
        with_bytes: bool,
        fx: &mut impl Effects<Self>,
    ) {
        let Role::Leader(Leadership { peers, reads, .. }) = &self.role else { return };
        let known = self.reported(&peers[to.index()]);
        let Sending { snapshot, offset, .. } = sending;
        let bytes = snapshot.state.bytes();
        let from = usize::try_from(*offset).unwrap_or(usize::MAX).min(bytes.len());
        let most = if with_bytes { self.config.piece } else { 0 };
        let end = from.saturating_add(most).min(bytes.len());
        let piece = Box::new(Piece {
            last: snapshot.last,
            members: snapshot.members.clone(),
            offset: *offset,
            bytes: Payload::new(&bytes[from..end]),
            size: bytes.len() as u64,
        });
        fx.send(to, Message::Piece { term: self.term, round: reads.round(), known, piece });
    }

    /// A process has so much of the snapshot that ends there.
    pub(super) fn on_has_pieces(
        &mut self,
        from: ProcessId,
        last: Place,
        has: u64,
        round: u64,
        fx: &mut impl Effects<Self>,
    ) {
        self.hear(from, round, fx);
        let Role::Leader(Leadership { peers, .. }) = &mut self.role else { return };
        let Flow::Sending(sending) = &mut peers[from.index()].flow else { return };
        let is_of_this = sending.snapshot.last == last;
        let is_news = has > sending.offset || !sending.under_way;
        if !is_of_this || !is_news || has > sending.snapshot.state.bytes().len() as u64 {
            return;
        }
        (sending.offset, sending.under_way) = (has, true);
        let sending = sending.clone();
        self.send_piece(from, &sending, true, fx);
    }

    /// Takes a piece of what the leader of our term sends, and answers.
    pub(super) fn accept_piece(
        &mut self,
        piece: Piece,
        round: u64,
        fx: &mut impl Effects<Self>,
    ) -> Message {
        let (term, last) = (self.term, piece.last);
        if self.needs_no_snapshot(last) {
            self.arriving = None;
            self.commit_to(last.index, fx);
            return Message::Appended { term, matched: last.index, round };
        }
        let arriving = self.arriving.take().filter(|arriving| arriving.last == last);
        let mut bytes = arriving.map_or_else(Vec::new, |arriving| arriving.bytes);
        let has = (bytes.len() as u64).checked_sub(piece.offset);
        let new = has.and_then(|has| piece.bytes.bytes().get(usize::try_from(has).ok()?..));
        bytes.extend_from_slice(new.unwrap_or_default());
        let has = bytes.len() as u64;
        if has < piece.size {
            self.arriving = Some(Arriving { last, bytes });
            return Message::HasPieces { term, last, has, round };
        }
        self.restore(Snapshot { last, members: piece.members, state: Payload::new(bytes) }, fx);
        Message::Appended { term, matched: last.index, round }
    }

    /// Begins again with a snapshot, in place of whatever was there.
    fn restore(&mut self, snapshot: Snapshot, fx: &mut impl Effects<Self>) {
        self.log.drop_from(snapshot.last.index);
        self.log.drop_to(snapshot.last);
        self.commit = snapshot.last.index;
        self.snapshot = Some(Arc::new(snapshot));
        self.find_members();
        self.tell_of_snapshot(fx);
    }

    /// Our user's state machine begins with the snapshot, if there is one.
    pub(super) fn tell_of_snapshot(&self, fx: &mut impl Effects<Self>) {
        let Some(snapshot) = &self.snapshot else { return };
        let Place { index, term } = snapshot.last;
        let (members, state) = (Box::new(snapshot.members.clone()), snapshot.state.clone());
        fx.emit(Event::Restored { index, term, members, state });
    }
}
