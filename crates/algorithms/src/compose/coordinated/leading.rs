//! Behaviour of the leader that grants the lock: inquiries, grants and suspicions.

use tenure_core::{Effects, Election, PeerVerdict, ProcessId, ProcessSet, Term};

use super::{CoordinatedLock, Message, Timer};
use crate::compose::coordinator::Coordinator;
use crate::mutex::Claim;

impl<E: Election> CoordinatedLock<E> {
    /// Makes this leader the coordinator of the lock, unless it already is. The coordinator asks
    /// all trusted processes for the states of their requests, and grants the lock only when all
    /// have reported. If entries expire, the coordinator also waits until suspected processes have
    /// had enough time to leave.
    pub(super) fn start_coordinating(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        if self.coordinator.is_some() {
            return;
        }
        let awaited: ProcessSet =
            self.group.peers().iter().filter(|peer| !self.suspected.contains(*peer)).collect();
        fx.broadcast(&awaited, Message::Inquire { term });
        self.coordinator = Some(Coordinator::awaiting(self.group.peers()));
        for peer in &self.suspected.clone() {
            self.on_suspect_as_leader(peer, fx);
        }
        let (me, status, round) = (self.group.me(), self.status(), self.start_request(fx));
        self.update_coordinator_and_grant(
            |coordinator| coordinator.record_status(me, status, round),
            fx,
        );
    }

    /// Records whether the failure detector suspects `peer`. Called before the election reacts to
    /// the verdict.
    pub(super) fn record_verdict(&mut self, peer: ProcessId, verdict: PeerVerdict) {
        match verdict {
            PeerVerdict::Suspect => self.suspected.insert(peer),
            PeerVerdict::Trust => self.suspected.remove(peer),
        };
    }

    /// Handles a verdict of the failure detector about `peer` after the election has handled it.
    /// Does nothing if this process is not the coordinator.
    pub(super) fn on_verdict_as_leader(
        &mut self,
        peer: ProcessId,
        verdict: PeerVerdict,
        fx: &mut impl Effects<Self>,
    ) {
        if self.coordinator.is_none() {
            return;
        }
        match verdict {
            PeerVerdict::Trust => self.inquire_request_status(peer, fx),
            PeerVerdict::Suspect => self.on_suspect_as_leader(peer, fx),
        }
    }

    /// Removes the claim of the suspected `peer`, stops waiting for its report, and grants the next
    /// claim if possible. If entries expire and the peer may be inside the critical section, does
    /// this only when [`Timer::Expiry`] fires. Does nothing if this process is not the coordinator.
    pub(super) fn on_suspect_as_leader(&mut self, peer: ProcessId, fx: &mut impl Effects<Self>) {
        let Some(coordinator) = &mut self.coordinator else { return };
        match *self.times {
            Some(times) if coordinator.may_be_inside(peer) => {
                coordinator.possibly_inside.insert(peer);
                fx.set_timer(Timer::Expiry, times.reservation);
            }
            _ => self.update_coordinator_and_grant(|coordinator| coordinator.forget_peer(peer), fx),
        }
    }

    /// Answers the renewal request `round` of the claim that holds the lock: confirms that the
    /// process may enter or stay inside the critical section. Does nothing if entries do not
    /// expire, or if `claim` does not hold the lock.
    pub(super) fn answer_renewal(&mut self, claim: Claim, round: u64, fx: &mut impl Effects<Self>) {
        let (Some(coordinator), Some(term)) = (&self.coordinator, self.term) else { return };
        if self.times.is_some()
            && let Some(fence) = coordinator.fence_of(claim)
        {
            let grant = Message::Grant { term, ticket: claim.ticket, round, fence };
            self.send(claim.process, grant, fx);
        }
    }

    /// Asks `peer` to report the state of the peer's request, because this leader trusts the peer
    /// again. While the leader suspected the peer, it may have removed the peer's claim. The leader
    /// grants nothing until the peer has reported. Does nothing if this process is not the
    /// coordinator.
    pub(super) fn inquire_request_status(&mut self, peer: ProcessId, fx: &mut impl Effects<Self>) {
        if let (Some(coordinator), Some(term)) = (&mut self.coordinator, self.term) {
            coordinator.possibly_inside.remove(peer);
            coordinator.awaited.insert(peer);
            fx.send(peer, Message::Inquire { term });
        }
    }

    /// Applies a change to the state of the coordinator, then grants the next claim if possible.
    /// Does nothing if this process is not the coordinator.
    pub(super) fn update_coordinator_and_grant(
        &mut self,
        change: impl FnOnce(&mut Coordinator),
        fx: &mut impl Effects<Self>,
    ) {
        let (Some(coordinator), Some(term)) = (&mut self.coordinator, self.term) else { return };
        change(coordinator);
        if let Some((claim, fence)) = coordinator.grant_next(term) {
            let round = coordinator.latest_request_number_of(claim.process);
            let grant = Message::Grant { term, ticket: claim.ticket, round, fence };
            self.send(claim.process, grant, fx);
        }
    }

    /// Returns true if this process is the coordinator in `term` and does not suspect `from`. A
    /// leader ignores the messages of a suspected process, because a crashed process would never
    /// release the lock. When the leader trusts the process again, it asks the process for the
    /// state of its request.
    pub(super) fn accepts_request(&self, from: ProcessId, term: Term) -> bool {
        self.coordinator.is_some() && self.term == Some(term) && !self.suspected.contains(from)
    }
}
