//! Whether a check asks more of an algorithm than its card says it assumes.

use tenure_core::{Card, Crashes, Detection, Order, Protocol, Timing};

use crate::check::Check;
use crate::user::Service;
use crate::world::Fault;

impl<P: Protocol> Check<P>
where
    P::Command: Service<Event = P::Event>,
{
    /// Where this check is weaker than what the card assumes, one sentence each: outside its
    /// assumptions an algorithm promises nothing, and a violation says nothing against it.
    pub fn beyond(&self, card: &Card) -> Vec<String> {
        let name = &card.name;
        let mut beyond = Vec::new();
        if card.order == Order::Fifo && self.order == Order::Reordered {
            beyond.push(format!("{name} needs channels that are first in, first out"));
        }
        if card.timing == Timing::Synchronous && self.synchronous.is_none() {
            beyond.push(format!("{name} needs synchronous time"));
        }
        let asked = |fault| self.budget.of(fault) > 0;
        let crashes = asked(Fault::Crash) || !self.down.is_empty();
        let faults = card.faults;
        if asked(Fault::Loss) && !faults.loss
            || asked(Fault::Duplication) && !faults.duplication
            || crashes && faults.crashes == Crashes::None
            || asked(Fault::Recovery) && faults.crashes < Crashes::Recovery
        {
            beyond.push(format!("{name} {}", faults.says));
        }
        if asked(Fault::FalseSuspicion) && card.detection == Detection::Perfect {
            beyond.push(format!("{name} needs a failure detector that is never wrong"));
        }
        if crashes && card.detection != Detection::None && !self.detects {
            beyond.push(format!("{name} needs a failure detector"));
        }
        beyond
    }
}
