//! What the users of a run do, as far as formulas tell it apart, and whether a card's cost speaks
//! of such a run.

use tenure_core::theory::Scene;
use tenure_core::{Card, Per, Service};

use crate::settings::Settings;
use crate::settings::workload::{Entries, Initiators, Pattern};

impl Settings {
    /// What the users of a service do; nothing when nobody wants anything. `drawn`: ranks are
    /// those of many runs, and these are only one of them.
    pub fn scene(&self, service: Service, drawn: bool) -> Option<Scene> {
        if service == Service::Election {
            return Some(match self.workload.initiators.as_ref() {
                Some(Initiators::All) if drawn => Scene::AllStartDrawn,
                Some(Initiators::All) => Scene::AllStart,
                Some(Initiators::Listed(listed)) if !drawn && listed.len() == 1 => {
                    Scene::OneStarts(listed[0])
                }
                _ => Scene::Other,
            });
        }
        let locking = self.workload.locking.as_ref()?;
        Some(match (&locking.pattern, &locking.entries) {
            (Pattern::Sequential { .. }, _) => Scene::OneAtATime,
            (_, Entries::Each(each)) if *each > 0 => Scene::Alike,
            _ => Scene::Other,
        })
    }

    /// Whether nothing goes wrong.
    pub fn is_undisturbed(&self) -> bool {
        self.faults.is_empty()
            && self.down.is_empty()
            && !self.network.loss.possible()
            && !self.network.duplication.possible()
    }

    fn has_equal_ranks(&self) -> bool {
        let mut sorted = self.ranks.to_vec();
        sorted.sort_unstable();
        sorted.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// Why nothing can be said of who sends to whom, where it cannot.
    pub fn off_ring(&self, card: &Card) -> Option<&'static str> {
        let whys = [
            (!card.topology.is_ring(), "its card names no ring"),
            (!self.is_undisturbed(), "its card speaks of runs in which nothing fails"),
        ];
        whys.into_iter().find_map(|(holds, why)| holds.then_some(why))
    }

    /// Why the cost that a card says means nothing here, where it does not.
    pub fn unpriced(&self, card: &Card) -> Option<&'static str> {
        let weak = card.weaknesses(&self.surroundings(card)).next().is_some();
        let elects = card.messages.per == Per::Election;
        let nobody = self.workload.initiators.is_none();
        let whys = [
            (!card.messages.whole, "its card does not bound all that is sent"),
            (!card.messages.is_promise(), "its card bounds no number of messages"),
            (!self.is_undisturbed(), "its card speaks of runs in which nothing fails"),
            (weak, "its card says nothing of what goes beyond it"),
            (self.has_equal_ranks(), "its card speaks of ranks that differ"),
            (elects && nobody, "nobody starts an election"),
        ];
        whys.into_iter().find_map(|(holds, why)| holds.then_some(why))
    }
}
