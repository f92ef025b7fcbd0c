//! Messages between a leader and its followers, and their handlers.

use tenure_core::{Effects, ProcessId};

use super::{Message, RaftLog};

impl RaftLog {
    /// Handles a message of the leader of this term.
    pub(super) fn on_leader(
        &mut self,
        from: ProcessId,
        message: Message,
        fx: &mut impl Effects<Self>,
    ) {
        if let Message::Append { known, .. } | Message::Piece { known, .. } = message
            && self.leaves_for_lack_of(known, fx)
        {
            return;
        }
        if !self.follow(from, fx) {
            return;
        }
        match message {
            Message::Append { behind, entries, commit, round, .. } => {
                let answer = self.accept(behind, entries, commit, round, fx);
                fx.send(from, answer);
            }
            Message::Committed { last, .. } => self.hear_of_commit(last, fx),
            Message::Heartbeat { term, round } => {
                fx.send(from, Message::HeartbeatResponse { term, round });
            }
            Message::Piece { round, piece, .. } => {
                let answer = self.accept_piece(*piece, round, fx);
                fx.send(from, answer);
            }
            _ => {}
        }
    }

    /// Handles a response of a follower to this leader, in this term.
    pub(super) fn on_follower(
        &mut self,
        from: ProcessId,
        message: Message,
        fx: &mut impl Effects<Self>,
    ) {
        match message {
            Message::HeartbeatResponse { round, .. } => self.hear(from, round, fx),
            Message::HasPieces { last, has, round, .. } => {
                self.on_has_pieces(from, last, has, round, fx);
            }
            Message::Appended { matched, round, .. } => self.on_appended(from, matched, round, fx),
            Message::Rejected { behind, conflict, round, .. } => {
                self.on_rejected(from, behind, conflict, round, fx);
            }
            _ => {}
        }
    }
}
