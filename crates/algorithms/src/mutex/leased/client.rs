//! Client role: holds a session, and waits for the lock in the queue of the service.

use alloc::vec::Vec;

use tenure_core::{Delay, Effects, Fence, ProcessId, Protocol};
use tenure_session::{LossReason, Session, SessionAction, Waiter, WaiterAction};

use super::config::VariantId;
use super::{Claim, ClaimTicket, LockPolicy, Message, SessionLock, Timer};
use crate::mutex::RequestId;

impl<L: LockPolicy> SessionLock<L> {
    pub(super) fn next_session_ticket(&self) -> RequestId {
        let RequestId { boot, number } = self.ticket.session();
        RequestId { boot, number: number + 1 }
    }

    pub(super) fn start_session(&mut self, ticket: L::Ticket, fx: &mut impl Effects<Self>) {
        self.ticket = ticket;
        let base = self.config.service_config();
        let mut session = Session::new(base.renewal_modulus);
        let actions = session.renew(&base.session_durations);
        self.claim = Some(Claim {
            session,
            waiter: Waiter::new(),
            counted: L::NotifiedDeletionCount::default(),
        });
        self.execute_session_actions(actions, fx);
    }

    /// Returns the claim of this process if it has this ticket, and `None` otherwise.
    pub(super) fn claim_with_ticket(&mut self, ticket: L::Ticket) -> Option<&mut Claim<L>> {
        self.claim.as_mut().filter(|_| ticket == self.ticket)
    }

    /// Returns the claim of this process if it belongs to this session, and `None` otherwise.
    pub(super) fn claim_in_session(&mut self, session: RequestId) -> Option<&mut Claim<L>> {
        self.claim.as_mut().filter(|_| session == self.ticket.session())
    }

    fn is_inside(&self) -> bool {
        self.claim.as_ref().is_some_and(|claim| claim.waiter.fence().is_some())
    }

    pub(super) fn on_session_timer(
        &mut self,
        timer: tenure_session::Timer,
        fx: &mut impl Effects<Self>,
    ) {
        let ignores_end = !self.notices_session_end() && !self.is_inside();
        if ignores_end && timer != tenure_session::Timer::Renewal {
            return;
        }
        let times = self.config.service_config().session_durations;
        if let Some(claim) = &mut self.claim {
            let actions = claim.session.on_timer(timer, &times);
            self.execute_session_actions(actions, fx);
        }
    }

    pub(super) fn on_gone(&mut self, ticket: L::Ticket, fx: &mut impl Effects<Self>) {
        let ignores_end = !self.notices_session_end() && !self.is_inside();
        if let Some(claim) = self.claim_in_session(ticket.session())
            && !ignores_end
        {
            let actions = claim.session.on_lease_ended();
            self.execute_session_actions(actions, fx);
        }
    }

    pub(super) fn on_deleted(
        &mut self,
        ticket: L::Ticket,
        key: &L::Blockers,
        revision: u64,
        fx: &mut impl Effects<Self>,
    ) {
        if let Some(claim) = self.claim.as_mut().filter(|_| ticket == self.ticket) {
            let Claim { waiter, counted, .. } = claim;
            let action = self.config.on_deleted(&ticket, waiter, counted, key, revision);
            self.execute_waiter_action(action, fx);
        }
    }

    pub(super) fn execute_session_actions(
        &mut self,
        actions: Vec<SessionAction>,
        fx: &mut impl Effects<Self>,
    ) {
        let (service, ticket) = (self.config.service_config().service, self.ticket);
        for action in actions {
            match action {
                SessionAction::Arm(timer, after) => fx.set_timer(timer.into(), Delay::ticks(after)),
                SessionAction::Disarm(timer) => fx.cancel_timer(timer.into()),
                SessionAction::Alive => self.send(service, Message::Look { ticket, at: 0 }, fx),
                SessionAction::Lost(reason) => self.on_session_lost(reason, fx),
                SessionAction::Renew { round } => {
                    let is_alive =
                        self.claim.as_ref().is_some_and(|claim| claim.session.is_alive());
                    let request = match is_alive {
                        true => Message::Renew { ticket, round },
                        false => Message::Open { ticket, round },
                    };
                    self.send(service, request, fx);
                }
            }
        }
    }

    /// Handles the end of the session, and releases the lease at the service. A process inside the
    /// critical section exits. A waiting process starts a new session, unless its user has closed
    /// the session.
    fn on_session_lost(&mut self, reason: LossReason, fx: &mut impl Effects<Self>) {
        let (inside, ticket) = (self.is_inside(), self.ticket);
        self.claim = None;
        if inside || reason == LossReason::Closed {
            fx.emit(L::exited_event());
        }
        let release = Message::Release { ticket, was_inside: inside };
        self.send(self.config.service_config().service, release, fx);
        if !inside && reason != LossReason::Closed {
            let next = ticket.for_session(self.next_session_ticket());
            self.start_session(next, fx);
        }
    }

    pub(super) fn execute_waiter_action(
        &mut self,
        action: Option<WaiterAction<L::Blockers>>,
        fx: &mut impl Effects<Self>,
    ) {
        let (service, ticket) = (self.config.service_config().service, self.ticket);
        match action {
            None => {}
            Some(WaiterAction::Acquired { fence }) => self.on_granted(fence, fx),
            // Requests the oldest revision that suffices, because the server that answers may not
            // have applied later revisions yet.
            Some(WaiterAction::ReadQueue { since: at }) => {
                self.send(service, Message::Look { ticket, at }, fx)
            }
            Some(WaiterAction::Watch { key, from }) => {
                let from = self.watch_start_revision(from);
                self.send(service, Message::Watch { ticket, key, from }, fx);
            }
            Some(WaiterAction::Removed) => self.on_gone(ticket, fx),
        }
    }

    /// Handles the grant of the latest claim: makes the next claim of the same session, or enters
    /// the critical section.
    fn on_granted(&mut self, fence: u64, fx: &mut impl Effects<Self>) {
        match (self.config.ticket_of_next_claim(self.me, &self.ticket), &mut self.claim) {
            (Some(next), Some(claim)) => {
                (claim.waiter, claim.counted) =
                    (Waiter::new(), L::NotifiedDeletionCount::default());
                self.ticket = next;
                self.send(
                    self.config.service_config().service,
                    Message::Look { ticket: next, at: 0 },
                    fx,
                );
            }
            _ => fx.emit(self.config.entered_event(&self.ticket, Fence(0, fence))),
        }
    }

    /// With the variant `deadline-from-answer`, restarts the deadline of the session from now,
    /// because a response has arrived. Without this variant, does nothing.
    pub(super) fn apply_deadline_from_answer_variant(&mut self, fx: &mut impl Effects<Self>) {
        if self.has_variant(VariantId::DeadlineFromAnswer) && self.claim.is_some() {
            let after = Delay::ticks(self.config.service_config().session_durations.validity);
            if let Some(side) =
                self.claim.as_ref().and_then(|claim| claim.session.confirmed_deadline_timer())
            {
                fx.set_timer(Timer::Deadline(side), after);
            }
        }
    }

    /// Sends a message, or handles it directly if this process is the receiver.
    pub(super) fn send(
        &mut self,
        to: ProcessId,
        message: Message<L::Ticket, L::Blockers>,
        fx: &mut impl Effects<Self>,
    ) {
        if to == self.me {
            self.on_message(to, message, fx);
        } else {
            fx.send(to, message);
        }
    }

    /// Returns true if `variant` is switched on.
    pub(super) fn has_variant(&self, variant: VariantId) -> bool {
        self.config.service_config().variants.has(variant)
    }
}
