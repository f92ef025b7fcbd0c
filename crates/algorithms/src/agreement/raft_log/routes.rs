//! Dispatch of messages between a leader and its followers.

use tenure_core::{Effects, ProcessId};

use super::{Message, RaftReplica};

impl RaftReplica {
    pub(super) fn on_leader_message(
        &mut self,
        from: ProcessId,
        message: Message,
        fx: &mut impl Effects<Self>,
    ) {
        if let Message::Append { acked, .. } | Message::Piece { acked, .. } = message
            && self.disable_if_entries_lost(acked, fx)
        {
            return;
        }
        if !self.follow_leader(from, fx) {
            return;
        }
        match message {
            Message::Append { prev, entries, commit, round, .. } => {
                let answer = self.on_append(prev, entries, commit, round, fx);
                fx.send(from, answer);
            }
            Message::Committed { last, .. } => self.on_committed(last, fx),
            Message::Heartbeat { term, round } => {
                fx.send(from, Message::HeartbeatResponse { term, round });
            }
            Message::Piece { round, piece, .. } => {
                let answer = self.on_piece(*piece, round, fx);
                fx.send(from, answer);
            }
            _ => {}
        }
    }

    pub(super) fn on_follower_response(
        &mut self,
        from: ProcessId,
        message: Message,
        fx: &mut impl Effects<Self>,
    ) {
        match message {
            Message::HeartbeatResponse { round, .. } => self.record_response(from, round, fx),
            Message::HasPieces { last, has, round, .. } => {
                self.on_has_pieces(from, last, has, round, fx);
            }
            Message::Appended { match_index, round, .. } => {
                self.on_appended(from, match_index, round, fx)
            }
            Message::Rejected { prev, conflict, round, .. } => {
                self.on_rejected(from, prev, conflict, round, fx);
            }
            _ => {}
        }
    }
}
