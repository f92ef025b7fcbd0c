//! Linearizable reads without a log entry (6.4).
//!
//! **Why a read is not stale.** The leader answers a read under two conditions: a majority has
//! responded to a round of messages that started after the read arrived, and an entry of the
//! leader's own term is committed.
//!
//! By the first condition, no leader of a later term existed when the read arrived. A later leader
//! needs the vote of a process in the majority, and each process in the majority still followed
//! this leader when it responded. So every entry that was acknowledged before the read arrived is
//! an entry of this term or of an earlier term. By leader completeness, the log of this leader
//! contains it. By the second condition, the leader knows that these entries are committed, and has
//! reported them to the user.
//!
//! Reads share rounds: reads that arrive during a round wait for the next round.

use alloc::collections::VecDeque;

use tenure_core::service::log::{DeclineReason, Event};
use tenure_core::{Effects, ProcessId};

use super::{Leadership, RaftReplica, Role};

/// Reads that wait until the leader has confirmed its leadership.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct PendingReads {
    /// Number of the latest round in which the leader confirms its leadership, from 1; 0 before the
    /// first round.
    round: u64,
    /// Pending reads, oldest first, as (ticket, round that a majority must confirm).
    waiting: VecDeque<(u64, u64)>,
}

impl PendingReads {
    pub(super) fn confirmation_round(&self) -> u64 {
        self.round
    }

    pub(super) fn tickets(&self) -> impl Iterator<Item = u64> + '_ {
        self.waiting.iter().map(|(ticket, _)| *ticket)
    }
}

impl RaftReplica {
    /// Handles a read of the user. Answers it immediately, queues it until a round is confirmed, or
    /// declines it.
    pub(super) fn on_read(&mut self, ticket: u64, fx: &mut impl Effects<Self>) {
        if self.can_read_without_quorum() && self.has_committed_in_term() && self.is_leader() {
            return fx.emit(Event::Answered { ticket, index: self.commit });
        }
        let Role::Leader(Leadership { reads, .. }) = &mut self.role else {
            return self.decline(ticket, DeclineReason::NotLeading, fx);
        };
        let round = reads.round + 1;
        let starts_round = reads.waiting.is_empty();
        reads.waiting.push_back((ticket, round));
        if starts_round {
            self.start_read_round(fx);
        }
    }

    fn is_leader(&self) -> bool {
        matches!(self.role, Role::Leader(_))
    }

    /// Starts a round of leadership confirmation: the next message to each follower carries the
    /// number of the round.
    fn start_read_round(&mut self, fx: &mut impl Effects<Self>) {
        let Role::Leader(Leadership { reads, .. }) = &mut self.role else { return };
        reads.round += 1;
        self.broadcast_heartbeat(fx);
        self.answer_confirmed_reads(fx);
    }

    /// Answers the reads whose round is confirmed, and starts the next round if reads wait for it.
    /// Called after each response of a process, and after each change of the commit index or of the
    /// membership. A sole voter receives no responses, so its reads depend on the calls after such
    /// changes.
    pub(super) fn answer_confirmed_reads(&mut self, fx: &mut impl Effects<Self>) {
        let knows = self.has_committed_in_term();
        let Role::Leader(Leadership { peers, reads, .. }) = &self.role else { return };
        if !knows || reads.waiting.is_empty() {
            return;
        }
        let answered = |peer: ProcessId| peers[peer.index()].round;
        let confirmed = self.highest_reached_by_quorum(reads.round, answered);
        let Role::Leader(Leadership { reads, .. }) = &mut self.role else { return };
        while let Some((ticket, _)) = reads.waiting.pop_front_if(|(_, round)| *round <= confirmed) {
            fx.emit(Event::Answered { ticket, index: self.commit });
        }
        if reads.waiting.front().is_some_and(|(_, round)| *round > reads.round) {
            self.start_read_round(fx);
        }
    }
}
