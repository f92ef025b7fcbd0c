//! Rules on which the correctness of the relayed log depends. Some variants break these rules.

use alloc::vec::Vec;

use tenure_core::Effects;
use tenure_core::service::log::{self, DeclineReason};

use super::config::VariantId;
use super::message::{ForwardedOutcome, UserRequest};
use super::{Forwarded, ForwardingLog};

impl ForwardingLog {
    /// Returns the highest log index at which a completed request may be reported to the user. By
    /// the correct rule, the result is the commit index of the local log.
    pub(super) fn reportable_index(&self) -> u64 {
        if self.has(VariantId::EarlyAnswer) {
            return u64::MAX;
        }
        self.log.commit_index()
    }

    /// Ends the waits for answers to the forwarded requests for which `is_selected` returns true.
    /// Reports the outcome of each of them as unknown, or a read as declined.
    pub(super) fn end_waits(
        &mut self,
        is_selected: impl Fn(&Forwarded) -> bool,
        fx: &mut impl Effects<Self>,
    ) {
        let ended = self.forwarded.iter().filter(|(_, forwarded)| is_selected(forwarded));
        let ended: Vec<u64> = ended.map(|(ticket, _)| *ticket).collect();
        for ticket in ended {
            if let Some(forwarded) = self.forwarded.remove(&ticket) {
                self.abandon_forwarded_request(ticket, forwarded, fx);
            }
        }
    }

    /// Ends all waits of the local user, because the search for a leader has failed. The log of
    /// this process may never reach the indexes of completed requests: a leader sends no entries to
    /// a removed process. The user has not seen these entries, so the outcome is unknown.
    pub(super) fn end_all_waits(&mut self, fx: &mut impl Effects<Self>) {
        self.end_waits(|_| true, fx);
        for (_, ticket, kind) in core::mem::take(&mut self.completed) {
            self.report_outcome(ticket, kind, ForwardedOutcome::Unknown, fx);
        }
    }

    /// Returns true if this process requests votes, or if it knows no leader and has no vote with
    /// which it could request any.
    pub(super) fn searches_leader(&self) -> bool {
        self.log.is_campaigning() || self.leader.is_none() && !self.log.is_voter()
    }

    /// Ends the wait for the answer to a forwarded request. The outcome of the request stays
    /// unknown. The request is not sent to another leader, because it could then take effect twice.
    pub(super) fn abandon_forwarded_request(
        &mut self,
        ticket: u64,
        forwarded: Forwarded,
        fx: &mut impl Effects<Self>,
    ) {
        if self.has(VariantId::AskedAgain) {
            return self.resend(ticket, forwarded, fx);
        }
        let outcome = match self.has(VariantId::DeclinedInDoubt) {
            true => ForwardedOutcome::Declined(DeclineReason::Deposed),
            false => ForwardedOutcome::Unknown,
        };
        self.report_outcome(ticket, forwarded.request.kind(), outcome, fx);
    }

    fn resend(&mut self, ticket: u64, forwarded: Forwarded, fx: &mut impl Effects<Self>) {
        match (self.leader, forwarded) {
            // No leader is known, so the request waits for the next leader.
            (None, forwarded) => drop(self.forwarded.insert(ticket, forwarded)),
            (Some(leader), Forwarded { request: UserRequest::Append(payload), .. })
                if leader == self.me =>
            {
                self.step_command(log::Command::Append { ticket, payload }, fx);
            }
            (Some(_), Forwarded { request, .. }) => drop(self.forward(ticket, request, fx)),
        }
    }

    fn has(&self, switch: VariantId) -> bool {
        self.config.variants.has(switch)
    }
}
