//! Rules on which the correctness of the relayed log depends. Some variants break these rules.

use tenure_core::Effects;
use tenure_core::service::log::{self, Reason};

use super::config::VariantId;
use super::message::{ForwardedOutcome, UserRequest};
use super::{Forwarded, RelayedLog};

impl RelayedLog {
    /// Returns the highest log index at which a completed request may be reported to the user. By
    /// the correct rule, the result is the commit index of the local log.
    pub(super) fn reportable_index(&self) -> u64 {
        if self.has(VariantId::EarlyAnswer) {
            return u64::MAX;
        }
        self.log.commit_index()
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
            true => ForwardedOutcome::Declined(Reason::Deposed),
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
