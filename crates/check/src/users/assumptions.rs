//! Whether a check asks more of an algorithm than its card says it assumes.

use tenure_core::{Bound, Card, Crashes, Surroundings, Timing};

use crate::check::Check;
use crate::refusal::Refusal;
use crate::users::user::Checkable;
use crate::world::Fault;

impl<P: Checkable> Check<P> {
    /// Refuses to run where more may happen than this card assumes. A check that assumes no card
    /// goes as far beyond as it is told to.
    #[must_use]
    pub fn assuming(mut self, card: &Card) -> Self {
        self.assumes = Some(card.clone());
        self
    }

    pub(crate) fn check_assumptions(&self) -> Result<(), Refusal> {
        let Some(card) = &self.assumes else { return Ok(()) };
        match card.weaknesses(&self.surroundings(card)).next() {
            Some(weakness) => Err(Refusal::Weaker { algorithm: card.name.clone(), weakness }),
            None => Ok(()),
        }
    }

    /// Returns true if a message that finds its link full is lost, beyond the budget of losses.
    /// A card that tolerates a bounded number of losses says nothing of such runs.
    pub(crate) fn drops_when_full(&self) -> bool {
        let unbounded = self.assumes.as_ref().is_none_or(|card| card.faults.loss);
        self.budget.of(Fault::Loss) > 0 && unbounded && !self.cuts_when_full
    }

    fn surroundings(&self, card: &Card) -> Surroundings {
        let asked = |fault| self.budget.of(fault) > 0;
        Surroundings {
            // Where a timer may fire at any time, it may do so as late as it has to.
            timing: if self.synchronous.is_some() { Timing::Synchronous } else { Timing::Partial },
            order: self.order,
            losses: Bound::AtMost(self.budget.of(Fault::Loss)),
            duplication: asked(Fault::Duplication),
            partition: asked(Fault::Partition),
            down: !self.down.is_empty(),
            crashes: match asked(Fault::Recovery) {
                true => Crashes::Recovery,
                false if asked(Fault::Crash) => Crashes::Stop,
                false => Crashes::None,
            },
            crashed: Bound::AtMost(self.budget.of(Fault::Crash) + self.down.len() as u32),
            suspicion: asked(Fault::FalseSuspicion),
            ..card.surroundings()
        }
    }
}
