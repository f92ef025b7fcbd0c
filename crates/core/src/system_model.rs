//! Conditions under which an algorithm runs, such as timing, channels and faults. Methods of
//! [`Card`] compare these conditions with the assumptions of the algorithm.

use core::fmt;

use alloc::vec::Vec;

use crate::card::{Card, ChannelOrder, CrashModel, DetectorClass, Timing};
use crate::property::Property;

/// Conditions that a group runs under: timing, channels and faults.
/// [`Card::fault_free_system_model`] returns the timing and the channel order that an algorithm
/// assumes, without any fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SystemModel {
    /// Assumptions about time.
    pub timing: Timing,
    /// Order in which channels deliver messages.
    pub order: ChannelOrder,
    /// Number of messages that the network may lose in one run.
    pub losses: FaultCountLimit,
    /// True if messages may be duplicated.
    pub duplication: bool,
    /// True if the network may be partitioned. Messages between the parts are lost.
    pub partition: bool,
    /// True if a partition that never ends may separate a process from a majority.
    /// [`max_unavailable`](SystemModel::max_unavailable) includes such a process.
    pub cut_off: bool,
    /// True if a process may be down from the start.
    pub down: bool,
    /// Ways in which processes may crash during the run.
    pub crashes: CrashModel,
    /// Maximum number of processes that may crash, be down from the start, or be cut off.
    pub max_unavailable: FaultCountLimit,
    /// True if a process may recover without its saved state.
    pub loses_saved_state: bool,
    /// True if a live process may be suspected.
    pub false_suspicion: bool,
}

/// Bound on the number of times that a fault occurs in one run, or on the number of processes that
/// a fault affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FaultCountLimit {
    /// At most this many occurrences.
    AtMost(u32),
    /// Any number of occurrences.
    Any,
}

impl FaultCountLimit {
    /// No occurrence.
    pub const NONE: FaultCountLimit = FaultCountLimit::AtMost(0);

    /// Returns [`FaultCountLimit::Any`] if the fault may happen, and [`FaultCountLimit::NONE`]
    /// otherwise.
    pub const fn any_or_none(happens: bool) -> Self {
        if happens { FaultCountLimit::Any } else { FaultCountLimit::NONE }
    }
}

/// An assumption of an algorithm that the system model does not meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UnmetAssumption {
    /// Requirement that the [`Card`] of the algorithm states.
    pub needs: &'static str,
    /// Condition of the system model that violates the requirement.
    pub given: &'static str,
}

impl fmt::Display for UnmetAssumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, and its card says: {}", self.given, self.needs)
    }
}

impl Card {
    /// Returns the conditions that the algorithm assumes: the timing and the channel order of this
    /// card, and no faults.
    pub fn fault_free_system_model(&self) -> SystemModel {
        SystemModel {
            timing: self.timing,
            order: self.order,
            losses: FaultCountLimit::NONE,
            duplication: false,
            partition: false,
            cut_off: false,
            down: false,
            crashes: CrashModel::None,
            max_unavailable: FaultCountLimit::NONE,
            loses_saved_state: false,
            false_suspicion: false,
        }
    }

    /// Returns the assumptions of this algorithm that `model` does not meet. If there is such an
    /// assumption, the algorithm promises nothing in `model`. A violation is then no evidence
    /// against the algorithm.
    pub fn unmet_assumptions(
        &self,
        model: &SystemModel,
    ) -> impl Iterator<Item = UnmetAssumption> + use<> {
        let timing = match self.timing {
            Timing::Rounds => "needs synchronous rounds",
            Timing::Synchronous => "needs synchronous timing",
            Timing::Partial => "needs at least partial synchrony",
            Timing::Asynchronous => "needs no timing",
        };
        let (order, detector) =
            ("needs channels in order", "needs a failure detector that is never wrong");
        let (survives, tolerated) = (self.faults, self.faults.description);
        let tolerates_no_crash = survives.crashes == CrashModel::None;
        let comes_back = model.crashes == CrashModel::Recovery;
        let perfect = self.detection == DetectorClass::Perfect;
        let lost = if survives.loss {
            FaultCountLimit::Any
        } else {
            FaultCountLimit::AtMost(survives.max_lost)
        };
        let crashed = survives.max_crashed.map_or(FaultCountLimit::Any, FaultCountLimit::AtMost);
        let all = [
            (model.timing < self.timing, timing, "the timing asked for is weaker"),
            (model.order < self.order, order, "the channels reorder"),
            (model.losses > lost && lost == FaultCountLimit::NONE, tolerated, "messages are lost"),
            (model.losses > lost, tolerated, "more messages may be lost"),
            (model.duplication && !survives.duplication, tolerated, "messages are duplicated"),
            (
                model.down && tolerates_no_crash && !survives.absence,
                tolerated,
                "a process is down from the start",
            ),
            (
                model.crashes > CrashModel::None && tolerates_no_crash,
                tolerated,
                "a process crashes",
            ),
            (
                model.cut_off && tolerates_no_crash,
                tolerated,
                "a partition that never ends cuts off a process",
            ),
            (model.max_unavailable > crashed, tolerated, "more processes may crash"),
            (model.loses_saved_state, tolerated, "a process recovers without its saved state"),
            (
                comes_back && survives.crashes < CrashModel::Recovery,
                tolerated,
                "a process recovers",
            ),
            (model.partition && !survives.loss, tolerated, "a partition loses messages"),
            (model.false_suspicion && perfect, detector, "a live process is suspected"),
        ];
        let lacking = all.into_iter().filter(|(lacking, ..)| *lacking);
        lacking.map(|(_, needs, given)| UnmetAssumption { needs, given })
    }

    /// Returns the properties in [`Card::promises`] that hold in `model`. The result omits mutual
    /// exclusion, fencing and order if the algorithm needs a perfect failure detector and `model`
    /// permits false suspicions. Two processes may then be inside at the same time, and an entry
    /// may have a lower fencing token than an earlier entry. The resource must reject the lower
    /// token.
    ///
    /// The model must meet all other assumptions of the algorithm.
    pub fn promises_under(&self, model: &SystemModel) -> Vec<Property> {
        let is_misled = model.false_suspicion && self.detection == DetectorClass::Perfect;
        let rests_on_detector = |property: &Property| {
            use Property::{Fencing, FirstComeFirstServed, MutualExclusion, MutualExclusionStrict};
            matches!(
                property,
                MutualExclusion | MutualExclusionStrict | Fencing | FirstComeFirstServed
            )
        };
        let kept = |property: &&Property| !is_misled || !rests_on_detector(property);
        self.promises.iter().filter(kept).copied().collect()
    }
}
