//! The leader of a lock at a leader: whom it asks, answers, and gives up.

use tenure_core::{Effects, Election, ProcessId, ProcessSet, Term, Verdict};

use super::{Coordinated, Message, Timer};
use crate::compose::coordinator::Coordinator;
use crate::mutex::Claim;

/// The leader.
impl<E: Election> Coordinated<E> {
    /// Begins to lead: asks everybody, before anything is granted.
    pub(super) fn open(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        if self.coordinator.is_some() {
            return;
        }
        let awaited: ProcessSet =
            self.group.peers().iter().filter(|peer| !self.suspected.contains(*peer)).collect();
        fx.broadcast(&awaited, Message::Inquire { term });
        self.coordinator = Some(Coordinator::awaiting(self.group.peers()));
        for peer in &self.suspected.clone() {
            self.doubt(peer, fx);
        }
        let (me, standing, round) = (self.group.me(), self.standing(), self.question(fx));
        self.serve(|coordinator| coordinator.record(me, standing, round), fx);
    }

    /// Takes note of whom not to wait for; an election that follows is to know it.
    pub(super) fn mind(&mut self, peer: ProcessId, verdict: Verdict) {
        match verdict {
            Verdict::Suspect => self.suspected.insert(peer),
            Verdict::Trust => self.suspected.remove(peer),
        };
    }

    /// Does what a leader does about it.
    pub(super) fn react(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        if self.coordinator.is_none() {
            return;
        }
        match verdict {
            Verdict::Trust => self.inquire(peer, fx),
            Verdict::Suspect => self.doubt(peer, fx),
        }
    }

    /// A peer is suspected. What is its own is given away, at once or when it must be out.
    pub(super) fn doubt(&mut self, peer: ProcessId, fx: &mut impl Effects<Self>) {
        let Some(coordinator) = &mut self.coordinator else { return };
        match *self.times {
            Some(times) if coordinator.may_be_inside(peer) => {
                coordinator.doubted.insert(peer);
                fx.set_timer(Timer::Expiry, times.expiry);
            }
            _ => self.serve(|coordinator| coordinator.give_up(peer), fx),
        }
    }

    /// Answers whoever is inside and asks again.
    pub(super) fn renew(&mut self, claim: Claim, round: u64, fx: &mut impl Effects<Self>) {
        let (Some(coordinator), Some(term)) = (&self.coordinator, self.term) else { return };
        if self.times.is_some()
            && let Some(fence) = coordinator.fence_of(claim)
        {
            let grant = Message::Grant { term, ticket: claim.ticket, round, fence };
            self.tell(claim.process, grant, fx);
        }
    }

    /// Asks a peer that is trusted again: it may have been given up while it waited or was
    /// inside.
    pub(super) fn inquire(&mut self, peer: ProcessId, fx: &mut impl Effects<Self>) {
        if let (Some(coordinator), Some(term)) = (&mut self.coordinator, self.term) {
            coordinator.doubted.remove(peer);
            coordinator.awaited.insert(peer);
            fx.send(peer, Message::Inquire { term });
        }
    }

    /// Changes what the coordinator keeps, then grants whatever may be granted.
    pub(super) fn serve(
        &mut self,
        change: impl FnOnce(&mut Coordinator),
        fx: &mut impl Effects<Self>,
    ) {
        let (Some(coordinator), Some(term)) = (&mut self.coordinator, self.term) else { return };
        change(coordinator);
        if let Some((claim, fence)) = coordinator.grant(term) {
            let round = coordinator.round_of(claim.process);
            let grant = Message::Grant { term, ticket: claim.ticket, round, fence };
            self.tell(claim.process, grant, fx);
        }
    }

    /// Whether we lead in this term and listen to this process. What a suspected one left under
    /// way does not count: the dead never release. If it is trusted again, it is asked again.
    pub(super) fn serves(&self, from: ProcessId, term: Term) -> bool {
        self.coordinator.is_some() && self.term == Some(term) && !self.suspected.contains(from)
    }
}
