//! Comparison of a check with the assumptions of a card.

use tenure_core::{Bound, Card, Crashes, SystemModel, Timing};

use crate::check::Check;
use crate::error::CheckError;
use crate::users::user::Checkable;
use crate::world::Fault;

impl<P: Checkable> Check<P> {
    /// Rejects the check if it allows more than this card assumes. Without this call a check may
    /// exceed any assumption.
    #[must_use]
    pub fn assuming(mut self, card: &Card) -> Self {
        self.assumed_card = Some(card.clone());
        self
    }

    pub(crate) fn check_assumptions(&self) -> Result<(), CheckError> {
        let Some(card) = &self.assumed_card else { return Ok(()) };
        match card.unmet_assumptions(&self.surroundings(card)).next() {
            Some(weakness) => {
                Err(CheckError::UnmetAssumption { algorithm: card.name.clone(), weakness })
            }
            None => Ok(()),
        }
    }

    /// Returns true if a full link drops messages in addition to the budget of losses. A card that
    /// tolerates a bounded number of losses excludes such runs.
    pub(crate) fn drops_when_full(&self) -> bool {
        let unbounded = self.assumed_card.as_ref().is_none_or(|card| card.faults.loss);
        self.budget.of(Fault::Loss) > 0 && unbounded && !self.prunes_full_links
    }

    fn surroundings(&self, card: &Card) -> SystemModel {
        let is_allowed = |fault| self.budget.of(fault) > 0;
        SystemModel {
            // Timers that may fire at any moment include those that partial synchrony permits.
            timing: if self.synchronous.is_some() { Timing::Synchronous } else { Timing::Partial },
            order: self.order,
            losses: Bound::AtMost(self.budget.of(Fault::Loss)),
            duplication: is_allowed(Fault::Duplication),
            partition: is_allowed(Fault::Partition),
            down: !self.down.is_empty(),
            crashes: match is_allowed(Fault::Recovery) {
                true => Crashes::Recovery,
                false if is_allowed(Fault::Crash) => Crashes::Stop,
                false => Crashes::None,
            },
            crashed: Bound::AtMost(self.budget.of(Fault::Crash) + self.down.len() as u32),
            false_suspicion: is_allowed(Fault::FalseSuspicion),
            ..card.system_model()
        }
    }
}
