//! Leadership transfer (3.10).
//!
//! The leader stops accepting entries and waits until the target has the whole log of the leader.
//! Then it tells the target to start an election immediately. The election is an ordinary one,
//! except that the candidate skips the pre-vote. So all safety arguments apply. If no new leader
//! emerges within an election timeout, the leader resumes.
//!
//! If the target does not matter, the leader probes all voters and picks the first one that
//! responds and has the whole log. A fixed target that is down or behind would delay the transfer.

use tenure_core::service::log::{DeclineReason, Event};
use tenure_core::{Effects, ProcessId};

use super::message::Message;
use super::{Leadership, RaftReplica, Role, Timer};

/// A leadership transfer that the user has requested. Another voter becomes the leader.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Handover {
    /// Voter that becomes the leader. If `None`, the leadership goes to the first voter that proves
    /// to have the whole log.
    to: Option<ProcessId>,
    pub(super) ticket: u64,
    /// True if this leader has sent `TimeoutNow` to the target.
    is_notified: bool,
}

impl RaftReplica {
    pub(super) fn hand_over(
        &mut self,
        ticket: u64,
        to: Option<ProcessId>,
        fx: &mut impl Effects<Self>,
    ) {
        let other_voters = self.other_voters();
        let takes = to.map_or(!other_voters.is_empty(), |to| other_voters.contains(to));
        let Role::Leader(Leadership { handover, .. }) = &mut self.role else {
            return self.decline(ticket, DeclineReason::NotLeading, fx);
        };
        if handover.is_some() {
            return self.decline(ticket, DeclineReason::HandingOver, fx);
        }
        if !takes {
            return self.decline(ticket, DeclineReason::NotTaken, fx);
        }
        *handover = Some(Handover { to, ticket, is_notified: false });
        fx.set_timer(Timer::Election, self.config.election_timeout);
        match to {
            Some(to) => self.maybe_send_timeout_now(to, fx),
            None => self.broadcast_heartbeat(fx),
        }
    }

    /// Sends `TimeoutNow` to `other` if it can be the target of the leadership transfer in
    /// progress. The target must be a voter that has the whole log. If the user has chosen a
    /// target, no other process can be the target.
    pub(super) fn maybe_send_timeout_now(&mut self, other: ProcessId, fx: &mut impl Effects<Self>) {
        let (last, is_voter) = (self.log.last().index, self.members().is_voter(other));
        let Role::Leader(Leadership { peers, handover, .. }) = &mut self.role else { return };
        if let Some(Handover { to, is_notified, .. }) = handover
            && !*is_notified
            && is_voter
            && to.is_none_or(|to| to == other)
            && peers[other.index()].has_match_up_to(last)
        {
            *is_notified = true;
            fx.send(other, Message::TimeoutNow { term: self.term });
        }
    }

    /// Ends the transfer of the leadership, because it has not succeeded within an election
    /// timeout. This process continues to lead.
    pub(super) fn abort_handover(&mut self, fx: &mut impl Effects<Self>) {
        let Role::Leader(Leadership { handover, .. }) = &mut self.role else { return };
        if let Some(Handover { ticket, .. }) = handover.take() {
            self.decline(ticket, DeclineReason::NotTaken, fx);
        }
    }

    pub(super) fn is_handing_over(&self) -> bool {
        matches!(&self.role, Role::Leader(Leadership { handover: Some(_), .. }))
    }

    /// Starts an election immediately, because the leader transfers its leadership to this process.
    pub(super) fn on_timeout_now(
        &mut self,
        from: ProcessId,
        term: u64,
        fx: &mut impl Effects<Self>,
    ) {
        if term == self.term && self.leader() == Some(from) && self.is_voter() {
            fx.emit(Event::Following { term, leader: None });
            fx.set_timer(Timer::Election, self.config.election_timeout);
            self.become_candidate(fx);
        }
    }
}
