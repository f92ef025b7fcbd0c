//! Comparison of a check with the assumptions of a card.

use tenure_core::{Card, CrashModel, FaultCountLimit, SystemModel, Timing};

use crate::config::CheckConfig;
use crate::error::CheckError;

impl CheckConfig {
    /// Returns an error if the check allows faults, timing or message orders that the assumptions
    /// on the configured [`Card`] exclude. Returns no error if the configuration has no card.
    pub(crate) fn check_assumptions(&self) -> Result<(), CheckError> {
        let Some(card) = &self.model.assumed_card else { return Ok(()) };
        match card.unmet_assumptions(&self.system_model(card)).next() {
            Some(weakness) => {
                Err(CheckError::UnmetAssumption { algorithm: card.name.clone(), weakness })
            }
            None => Ok(()),
        }
    }

    /// Returns true if a full link drops messages. The number of drops is unlimited. So the check
    /// must allow losses, a configured [`Card`] must tolerate any number of losses, and the check
    /// must not prefer to prune states with full links.
    pub(crate) fn drops_when_link_full(&self) -> bool {
        let unbounded = self.model.assumed_card.as_ref().is_none_or(|card| card.faults.loss);
        self.faults.losses > 0 && unbounded && !self.bounds.prunes_full_links
    }

    fn system_model(&self, card: &Card) -> SystemModel {
        let (model, faults) = (&self.model, &self.faults);
        SystemModel {
            timing: match &model.latency {
                Some(_) if model.has_rounds => Timing::Rounds,
                Some(_) => Timing::Synchronous,
                // In this model, a timer may fire at any moment, so the model includes all runs of
                // partial synchrony.
                None => Timing::Partial,
            },
            order: model.order,
            losses: FaultCountLimit::AtMost(faults.losses),
            duplication: faults.duplicates > 0,
            partition: faults.partition_side.is_some(),
            cut_off: false,
            down: !faults.initially_down.is_empty(),
            crashes: match faults.recoveries {
                0 if faults.crashes > 0 => CrashModel::Stop,
                0 => CrashModel::None,
                _ => CrashModel::Recovery,
            },
            max_unavailable: FaultCountLimit::AtMost(
                faults.crashes.saturating_add(faults.initially_down.len() as u32),
            ),
            false_suspicion: faults.false_suspicions > 0,
            ..card.fault_free_system_model()
        }
    }
}
