//! The rules that the proof rests on, each with the mistake that is made about it.

use tenure_core::Effects;
use tenure_core::service::log::{self, Reason};

use super::config::Switch;
use super::message::{Said, Wanted};
use super::{Passed, RelayedLog};

impl RelayedLog {
    /// Up to which index our user is told of what was done: as far as it was told of the log.
    pub(super) fn answers_up_to(&self) -> u64 {
        if self.has(Switch::EarlyAnswer) {
            return u64::MAX;
        }
        self.log.committed()
    }

    /// Ends the wait for a request. Its outcome is unknown, and no other leader is asked for it.
    pub(super) fn lose(&mut self, ticket: u64, passed: Passed, fx: &mut impl Effects<Self>) {
        if self.has(Switch::AskedAgain) {
            return self.ask_again(ticket, passed, fx);
        }
        let said = match self.has(Switch::DeclinedInDoubt) {
            true => Said::Declined(Reason::Deposed),
            false => Said::Unknown,
        };
        self.learn(ticket, passed.wanted.kind(), said, fx);
    }

    fn ask_again(&mut self, ticket: u64, passed: Passed, fx: &mut impl Effects<Self>) {
        match (self.leader, passed) {
            // Whoever is next is asked.
            (None, passed) => drop(self.passed.insert(ticket, passed)),
            (Some(leader), Passed { wanted: Wanted::Append(payload), .. }) if leader == self.me => {
                self.ask_log(log::Command::Append { ticket, payload }, fx);
            }
            (Some(_), Passed { wanted, .. }) => drop(self.passes_on(ticket, wanted, fx)),
        }
    }

    fn has(&self, switch: Switch) -> bool {
        self.config.variants.has(switch)
    }
}
