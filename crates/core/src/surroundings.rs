//! What may happen around an algorithm, and where that is more than its card assumes.

use core::fmt;

use alloc::vec::Vec;

use crate::card::{Card, Crashes, Detection, Order, Timing};
use crate::property::Property;

/// What may happen around a group. [`Card::surroundings`] are the weakest that a card assumes,
/// without faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Surroundings {
    /// What is known about time.
    pub timing: Timing,
    /// In which order channels deliver.
    pub order: Order,
    /// How many messages may be lost.
    pub losses: Bound,
    /// Whether messages arrive twice.
    pub duplication: bool,
    /// Whether the network falls into parts, between which messages are lost.
    pub partition: bool,
    /// Whether a process is down from the start.
    pub down: bool,
    /// How processes fail on the way.
    pub crashes: Crashes,
    /// How many processes may fail, those included that are down from the start.
    pub crashed: Bound,
    /// Whether a process comes back without what it had saved.
    pub forgets: bool,
    /// Whether a live process is suspected.
    pub suspicion: bool,
}

/// How often something may happen, in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Bound {
    /// At most so often.
    AtMost(u32),
    /// Any number of times.
    Any,
}

impl Bound {
    /// Never.
    pub const NONE: Bound = Bound::AtMost(0);

    /// Any number of times if `happens`, else never.
    pub const fn any_if(happens: bool) -> Self {
        if happens { Bound::Any } else { Bound::NONE }
    }
}

/// What an algorithm needs and does not get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Weakness {
    /// What its card says.
    pub needs: &'static str,
    /// What there is instead.
    pub given: &'static str,
}

impl fmt::Display for Weakness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, and its card says: {}", self.given, self.needs)
    }
}

impl Card {
    /// The weakest surroundings that the algorithm assumes, without faults.
    pub fn surroundings(&self) -> Surroundings {
        Surroundings {
            timing: self.timing,
            order: self.order,
            losses: Bound::NONE,
            duplication: false,
            partition: false,
            down: false,
            crashes: Crashes::None,
            crashed: Bound::NONE,
            forgets: false,
            suspicion: false,
        }
    }

    /// Where these surroundings are weaker than what the card assumes: outside its assumptions
    /// an algorithm promises nothing, and a violation says nothing against it.
    pub fn weaknesses(&self, around: &Surroundings) -> impl Iterator<Item = Weakness> + use<> {
        let timing = match self.timing {
            Timing::Synchronous => "needs synchronous timing",
            Timing::Partial => "needs at least partial synchrony",
            Timing::Asynchronous => "needs no timing",
        };
        let (order, detector) =
            ("needs channels in order", "needs a failure detector that is never wrong");
        let (survives, says) = (self.faults, self.faults.says);
        let mortal = survives.crashes == Crashes::None;
        let comes_back = around.crashes == Crashes::Recovery;
        let perfect = self.detection == Detection::Perfect;
        let lost = if survives.loss { Bound::Any } else { Bound::AtMost(survives.max_lost) };
        let crashed = survives.max_crashed.map_or(Bound::Any, Bound::AtMost);
        let all = [
            (around.timing < self.timing, timing, "the timing asked for is weaker"),
            (around.order < self.order, order, "the channels reorder"),
            (around.losses > lost && lost == Bound::NONE, says, "messages are lost"),
            (around.losses > lost, says, "more messages may be lost"),
            (around.duplication && !survives.duplication, says, "messages are duplicated"),
            (around.down && mortal && !survives.absence, says, "a process is down from the start"),
            (around.crashes > Crashes::None && mortal, says, "a process crashes"),
            (around.crashed > crashed, says, "more processes may crash"),
            (around.forgets, says, "a process forgets"),
            (comes_back && survives.crashes < Crashes::Recovery, says, "a process comes back"),
            (around.partition && !survives.loss, says, "a partition loses messages"),
            (around.suspicion && perfect, detector, "a live process is suspected"),
        ];
        let lacking = all.into_iter().filter(|(lacking, ..)| *lacking);
        lacking.map(|(_, needs, given)| Weakness { needs, given })
    }

    /// What is still promised where these surroundings suspect a live process: all of it, unless
    /// the card needs a detector that is never wrong. Then two may be inside, and what keeps a
    /// resource right is that it compares fences.
    pub fn promises_in(&self, around: &Surroundings) -> Vec<Property> {
        let misled = around.suspicion && self.detection == Detection::Perfect;
        let rests_on_detector = |property: &Property| {
            use Property::{Fencing, MutualExclusion, MutualExclusionStrict, Order};
            matches!(property, MutualExclusion | MutualExclusionStrict | Fencing | Order)
        };
        let kept = |property: &&Property| !misled || !rests_on_detector(property);
        self.promises.iter().filter(kept).copied().collect()
    }
}
