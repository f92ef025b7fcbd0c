//! The rules that the proof rests on, each with the mistake that is made about it.

use tenure_core::service::log::{self, Reason};
use tenure_core::{Effects, ProcessId};

use super::RelayedLog;
use super::config::Switch;
use super::message::{Said, Wanted};

impl RelayedLog {
    /// Up to which index our user is told of what was done: as far as it was told of the log.
    pub(super) fn answers_up_to(&self) -> u64 {
        if self.has(Switch::EarlyAnswer) {
            return u64::MAX;
        }
        self.log.committed()
    }

    /// What was passed on to somebody who leads no longer, and was not answered: nobody knows what
    /// becomes of it, and nobody else is asked for it.
    pub(super) fn lose(
        &mut self,
        ticket: u64,
        of: ProcessId,
        wanted: Wanted,
        fx: &mut impl Effects<Self>,
    ) {
        if self.has(Switch::AskedAgain) {
            return self.ask_again(ticket, of, wanted, fx);
        }
        let said = match self.has(Switch::DeclinedInDoubt) {
            true => Said::Declined(Reason::Deposed),
            false => Said::Unknown,
        };
        self.learn(ticket, wanted.kind(), said, fx);
    }

    fn ask_again(
        &mut self,
        ticket: u64,
        of: ProcessId,
        wanted: Wanted,
        fx: &mut impl Effects<Self>,
    ) {
        match (self.leader, wanted) {
            // Whoever is next is asked.
            (None, wanted) => drop(self.passed.insert(ticket, (of, wanted))),
            (Some(leader), Wanted::Append(payload)) if leader == self.me => {
                self.ask_log(log::Command::Append { ticket, payload }, fx);
            }
            (Some(_), wanted) => drop(self.passes_on(ticket, wanted, fx)),
        }
    }

    fn has(&self, switch: Switch) -> bool {
        self.config.variants.has(switch)
    }
}
