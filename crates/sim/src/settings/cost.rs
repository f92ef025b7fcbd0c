//! Comparison of a run with theory and with the card of its algorithm. The kind of a workload
//! selects the formula for the expected cost. An exemption is a reason why the cost or the links of
//! a run cannot be compared with the card.

use tenure_core::theory::WorkloadKind;
use tenure_core::{Card, CostUnit, Service};

use crate::settings::Settings;
use crate::settings::workload::{EntriesPerProcess, Initiators, RequestPattern};

impl Settings {
    /// Returns the kind of this workload. The kind selects the formula by which theory predicts the
    /// number of messages. `draws_ranks` is true if each of many runs draws its own ranks; the
    /// formula then predicts a mean over these runs. Returns `None` if `service` is not an election
    /// and the workload has no requests for a lock.
    pub fn workload_kind(&self, service: Service, draws_ranks: bool) -> Option<WorkloadKind> {
        if service == Service::Election {
            return Some(match self.workload.initiators.as_ref() {
                Some(Initiators::All) if draws_ranks => WorkloadKind::AllStartRandomRanks,
                Some(Initiators::All) => WorkloadKind::AllStart,
                Some(Initiators::Listed(listed)) if !draws_ranks && listed.len() == 1 => {
                    WorkloadKind::OneStarts(listed[0])
                }
                _ => WorkloadKind::Other,
            });
        }
        let locking = self.workload.locking.as_ref()?;
        Some(match (&locking.pattern, &locking.entries) {
            (RequestPattern::Sequential { .. }, _) => WorkloadKind::OneAtATime,
            (_, EntriesPerProcess::Each(each)) if *each > 0 => WorkloadKind::AllEquallyOften,
            _ => WorkloadKind::Other,
        })
    }

    /// Returns true if a predicted number of messages applies to runs with these settings. If the
    /// settings contain a global stabilisation time, messages before this time are late. The
    /// timeouts of an algorithm may then fire although no message is lost, and the algorithm sends
    /// messages again.
    pub fn allows_prediction(&self, card: &Card) -> bool {
        self.time.gst == 0 || card.timeouts.is_empty()
    }

    /// Returns true if the settings contain no faults, no processes that are down from the start,
    /// no losses and no duplications.
    pub fn is_fault_free(&self) -> bool {
        self.faults.is_empty()
            && self.down.is_empty()
            && !self.network.loss.can_occur()
            && !self.network.duplication.can_occur()
    }

    /// Returns true if two processes have equal ranks.
    fn has_equal_ranks(&self) -> bool {
        let mut sorted = self.ranks.to_vec();
        sorted.sort_unstable();
        sorted.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// Returns the reason why no monitor checks the links of a run with these settings. Returns
    /// `None` if a monitor can check them. The monitor then accepts only the links that the
    /// algorithm's [`Card`] allows.
    pub fn link_check_skip_reason(&self, card: &Card) -> Option<&'static str> {
        let reasons = [
            (!card.has_checkable_links(), "its card names no ring and no graph"),
            (!self.is_fault_free(), "its card covers only runs without faults"),
        ];
        reasons.into_iter().find_map(|(applies, reason)| applies.then_some(reason))
    }

    /// Returns the reason why the card's bound on messages does not apply to runs with these
    /// settings. Returns `None` if the bound applies.
    pub fn cost_check_skip_reason(&self, card: &Card) -> Option<&'static str> {
        let weak = card.unmet_assumptions(&self.system_model(card)).next().is_some();
        let elects = card.messages.per == CostUnit::Election;
        let no_initiator = self.workload.initiators.is_none();
        let reasons = [
            (!card.messages.is_complete, "its card bounds only a part of the messages"),
            (!card.messages.is_checkable(), "its card has no bound on messages"),
            (!self.is_fault_free(), "its card covers only runs without faults"),
            (weak, "its card does not cover a weaker environment"),
            (self.has_equal_ranks(), "its card requires different ranks"),
            (elects && no_initiator, "no process starts an election"),
        ];
        reasons.into_iter().find_map(|(applies, reason)| applies.then_some(reason))
    }
}
