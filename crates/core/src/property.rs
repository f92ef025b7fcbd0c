//! What can be said of a run: every property, with all that the house knows of it.

use core::cmp::Ordering;
use core::fmt;

use crate::card::Service;

/// A property of runs: what a card promises, a monitor judges and a report names.
///
/// They are ordered by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Property {
    /// At most one inside; a crash ends an entry.
    MutualExclusion,
    /// At most so many inside.
    AtMost(u32),
    /// At most one inside, and who crashes inside stays there until it comes back.
    MutualExclusionStrict,
    /// Every process that waits for an answer, an outcome or a leader gets it in the end. Of a lock
    /// see [`Property::StarvationFreedom`] and [`Property::DeadlockFreedom`].
    Progress,
    /// While processes wait for the critical section, some process enters again and again, though
    /// not every one of them need. Schedules are weakly fair, and whoever is inside leaves.
    DeadlockFreedom,
    /// Every process that waits for the critical section enters in the end; also called lockout
    /// freedom. Schedules are weakly fair, and whoever is inside leaves. It implies
    /// [`Property::DeadlockFreedom`], and is implied by no bound on bypass: under a deadlock
    /// no process enters twice.
    StarvationFreedom,
    /// Fences strictly increase.
    Fencing,
    /// First come, first served (FIFO): of two requests, the one that happened before the other is
    /// served first. The doorway is the step that asks, and *before* is Lamport's relation by the
    /// lock's own messages, for processes that share no clock have no other.
    Order,
    /// The same, with the application's messages.
    OrderWithMessages,
    /// Bounded bypass: how often one process enters while another waits is no more than this, or,
    /// where no bound is given, measured and never violated. Waiting begins with the request. It
    /// says nothing of liveness.
    Bypass(Option<u32>),
    /// In the end all believe in one leader, and nobody's terms go back. Of consensus: nobody ever
    /// decides otherwise than another. Of a broadcast: what is delivered by one who stays up, all
    /// who stay up deliver in the end.
    Agreement,
    /// In the end whoever believes in a leader believes in the largest live rank. Of consensus:
    /// what is decided was proposed.
    Validity,
    /// Of a broadcast: what anybody ever delivers, all who stay up deliver in the end.
    UniformAgreement,
    /// Nobody is told of a decision, or of an item, for a second time.
    Integrity,
    /// Nothing is delivered that was not broadcast.
    NoCreation,
    /// Any two who deliver the same two items do so in the same order.
    TotalOrder,
    /// In the end exactly one leads, unless nobody believes in anybody.
    Uniqueness,
    /// Without terms, nobody changes its mind within one election.
    Irrevocability,
    /// Never two leaders at once, under whatever numbers.
    OneLeaderAtATime,
    /// Never two leaders at once under one number.
    OneLeaderPerTerm,
    /// Whoever begins to lead does so under a higher number than ever before.
    FreshTerms,
    /// Nobody is deposed in whom a majority believes.
    SteadyLeader,
    /// An entry, or an election, takes as many messages as the card says.
    Cost,
    /// Messages go only to neighbours on the ring that the card names.
    Topology,
    /// Every item of a stream arrives exactly once, in order.
    NoLoss,
    /// Nobody commits what another aborts.
    Atomicity,
    /// An acknowledged write is never lost.
    Durability,
    /// Who joins a wave joins one tree.
    OneTree,
    /// What a snapshot shows might have been.
    ConsistentCut,
    /// Nobody leaves a barrier before all have arrived.
    AllArrive,
    /// The end of a computation is announced when nobody works for it any more.
    Quiescence,
    /// Views of one number are the same everywhere.
    OneView,
    /// No two have the same new name.
    UniqueNames,
    /// New names are small.
    SmallNames,
    /// Two logs with an entry of the same term at the same index are alike up to there.
    LogMatching,
    /// Whoever leads has what was committed in earlier terms.
    LeaderCompleteness,
    /// All are told of the same entries of a log, in its order.
    StateMachineSafety,
    /// A read sees all that anybody was told of before it was asked.
    LinearizableReads,
    /// What is appended is committed once at most, and what is declined never.
    AtMostOnce,
    /// The resource accepts no fence below one that it has seen.
    FencedAccess,
    /// No increment of the resource's counter is lost.
    Counter,
    /// Nothing is received before it is sent.
    Trace,
    /// A property of the reader's own, by its name.
    Own(&'static str),
}

/// What a property cannot be judged without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing but what users ask and are told.
    Nothing,
    /// Vector clocks of the requests.
    Clocks,
    /// Entries that carry fences.
    Fences,
    /// The ranks of the processes.
    Ranks,
    /// Which messages are sent.
    Messages,
}

/// How much is made of a property where nobody asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Notice {
    /// None: it is judged where somebody asks for it.
    Asked,
    /// It is mentioned where it is violated.
    Broken,
    /// It is mentioned.
    Always,
    /// Everybody expects it of a service, card or no card: a violation is a failure.
    Expected,
}

/// What [`Property::Bypass`] says, whether or not there is a bound.
const BYPASS: &str = "Measure how often one process enters while another waits; bounded-bypass=2: \
    judge that it is no more than twice";

/// What [`Property::Order`] says.
const ORDER: &str = "First come, first served (FIFO): no request is served before one that \
    happened before it";

/// What [`Property::DeadlockFreedom`] says.
const DEADLOCK_FREEDOM: &str = "While processes wait, some process enters (weak fairness)";

/// What [`Property::StarvationFreedom`] says.
const STARVATION_FREEDOM: &str = "Every process that waits enters: lockout freedom (weak fairness)";

impl Property {
    /// All but the reader's own; the *k* of [`Property::AtMost`] is for a card to say, and the
    /// bound of [`Property::Bypass`] for whoever asks.
    pub const ALL: [Property; 42] = [
        Property::MutualExclusion,
        Property::AtMost(1),
        Property::MutualExclusionStrict,
        Property::DeadlockFreedom,
        Property::StarvationFreedom,
        Property::Progress,
        Property::Fencing,
        Property::Order,
        Property::OrderWithMessages,
        Property::Bypass(None),
        Property::Agreement,
        Property::Validity,
        Property::Uniqueness,
        Property::Irrevocability,
        Property::OneLeaderAtATime,
        Property::OneLeaderPerTerm,
        Property::UniformAgreement,
        Property::Integrity,
        Property::NoCreation,
        Property::TotalOrder,
        Property::FreshTerms,
        Property::SteadyLeader,
        Property::Cost,
        Property::Topology,
        Property::NoLoss,
        Property::Atomicity,
        Property::Durability,
        Property::OneTree,
        Property::ConsistentCut,
        Property::AllArrive,
        Property::Quiescence,
        Property::OneView,
        Property::UniqueNames,
        Property::SmallNames,
        Property::LogMatching,
        Property::LeaderCompleteness,
        Property::StateMachineSafety,
        Property::LinearizableReads,
        Property::AtMostOnce,
        Property::FencedAccess,
        Property::Counter,
        Property::Trace,
    ];

    /// The name, and what it says.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Property::MutualExclusion => ("mutual-exclusion", "At most one inside"),
            Property::AtMost(_) => ("at-most-k", "At most k inside, of a k-mutex"),
            Property::MutualExclusionStrict => {
                ("mutual-exclusion-strict", "At most one inside, though a crash ends no entry")
            }
            Property::DeadlockFreedom => ("deadlock-freedom", DEADLOCK_FREEDOM),
            Property::StarvationFreedom => ("starvation-freedom", STARVATION_FREEDOM),
            Property::Progress => ("progress", "Every process that waits gets its answer"),
            Property::Fencing => ("fencing", "Fences strictly increase"),
            Property::Order => ("order", ORDER),
            Property::OrderWithMessages => {
                ("order-with-messages", "The same, with the application's messages")
            }
            Property::Bypass(_) => ("bounded-bypass", BYPASS),
            Property::Validity => {
                ("validity", "In the end the largest live rank leads; a decision was proposed")
            }
            Property::Uniqueness => ("uniqueness", "In the end exactly one leads"),
            Property::Irrevocability => ("irrevocability", "No change of mind in one election"),
            Property::OneLeaderAtATime => ("one-leader-at-a-time", "Never two leaders at once"),
            Property::OneLeaderPerTerm => {
                ("one-leader-per-term", "Never two leaders under one number")
            }
            Property::FreshTerms => ("fresh-terms", "Nobody leads again in a term that is over"),
            Property::SteadyLeader => {
                ("steady-leader", "Nobody is deposed in whom a majority believes")
            }
            Property::Cost => ("cost", "No more messages than the card says, and no fewer"),
            Property::Topology => ("topology", "Messages go only to neighbours on the ring"),
            Property::FencedAccess => {
                ("fenced-access", "The resource accepts no fence below one that it has seen")
            }
            Property::Counter => ("counter", "No increment of the resource's counter is lost"),
            Property::Trace => ("trace", "Nothing is received before it is sent"),
            Property::Own(name) => (name, "A property of the reader's own"),
            Property::NoLoss
            | Property::Atomicity
            | Property::Durability
            | Property::OneTree
            | Property::ConsistentCut
            | Property::AllArrive
            | Property::Quiescence
            | Property::OneView
            | Property::UniqueNames
            | Property::SmallNames
            | Property::LogMatching
            | Property::LeaderCompleteness
            | Property::StateMachineSafety
            | Property::LinearizableReads
            | Property::AtMostOnce
            | Property::TotalOrder
            | Property::NoCreation
            | Property::Integrity
            | Property::UniformAgreement
            | Property::Agreement => self.words_of_agreement(),
        }
    }

    /// Those of what processes are told, and agree upon.
    const fn words_of_agreement(self) -> (&'static str, &'static str) {
        match self {
            Property::NoLoss => ("no-loss", "Every item arrives exactly once, in order"),
            Property::Atomicity => ("atomicity", "Nobody commits what another aborts"),
            Property::Durability => ("durability", "An acknowledged write is never lost"),
            Property::OneTree => ("one-tree", "Who joins a wave joins one tree"),
            Property::ConsistentCut => ("consistent-cut", "What a snapshot shows might have been"),
            Property::AllArrive => ("all-arrive", "Nobody leaves before all have arrived"),
            Property::Quiescence => ("quiescence", "An end is announced when nobody works"),
            Property::OneView => ("one-view", "Views of one number are the same everywhere"),
            Property::UniqueNames => ("unique-names", "No two have the same new name"),
            Property::SmallNames => ("small-names", "New names are at most N + t"),
            Property::LogMatching => {
                ("log-matching", "Logs that meet in an entry are alike up to there")
            }
            Property::LeaderCompleteness => {
                ("leader-completeness", "Whoever leads has what was committed before")
            }
            Property::StateMachineSafety => {
                ("state-machine-safety", "All are told of the same entries, in one order")
            }
            Property::LinearizableReads => {
                ("linearizable-reads", "A read sees what was known before it was asked")
            }
            Property::AtMostOnce => {
                ("at-most-once", "What is appended is committed once at most, if not declined")
            }
            Property::TotalOrder => ("total-order", "All deliver in one order"),
            Property::NoCreation => ("no-creation", "What is delivered was broadcast"),
            Property::Integrity => ("integrity", "Nobody is told the same for a second time"),
            Property::UniformAgreement => {
                ("uniform-agreement", "What anybody delivers, all who stay up deliver")
            }
            Property::Agreement => {
                ("agreement", "In the end all believe in one leader; all decide, or deliver, alike")
            }
            _ => panic!("the other properties are of another kind"),
        }
    }

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        self.words().0
    }

    /// What it says, in a line.
    pub const fn says(self) -> &'static str {
        self.words().1
    }

    /// The property of a name, if it is one of [`Property::ALL`].
    pub fn named(name: &str) -> Option<Property> {
        Property::ALL.into_iter().find(|property| property.name() == name)
    }

    /// Whether it means anything to the users of a service.
    pub const fn is_of(self, service: Service) -> bool {
        match self {
            Property::Progress => !matches!(service, Service::Mutex),
            Property::MutualExclusion
            | Property::AtMost(_)
            | Property::MutualExclusionStrict
            | Property::DeadlockFreedom
            | Property::StarvationFreedom
            | Property::Fencing
            | Property::Order
            | Property::OrderWithMessages
            | Property::Bypass(_) => matches!(service, Service::Mutex | Service::Office),
            Property::Agreement => {
                use Service::{Broadcast, Consensus, Election, Office};
                matches!(service, Election | Office | Consensus | Broadcast)
            }
            Property::Validity => {
                matches!(service, Service::Election | Service::Office | Service::Consensus)
            }
            Property::Uniqueness
            | Property::Irrevocability
            | Property::OneLeaderAtATime
            | Property::FreshTerms
            | Property::SteadyLeader => matches!(service, Service::Election | Service::Office),
            Property::OneLeaderPerTerm => {
                matches!(service, Service::Election | Service::Office | Service::Log)
            }
            Property::Cost | Property::Topology => {
                matches!(service, Service::Mutex | Service::Election | Service::Office)
            }
            Property::Integrity => {
                matches!(service, Service::Consensus | Service::Broadcast | Service::Log)
            }
            Property::NoCreation => matches!(service, Service::Broadcast | Service::Log),
            Property::Durability => matches!(service, Service::Log | Service::Other),
            Property::LogMatching
            | Property::LeaderCompleteness
            | Property::StateMachineSafety
            | Property::LinearizableReads
            | Property::AtMostOnce => matches!(service, Service::Log),
            Property::UniformAgreement | Property::TotalOrder => {
                matches!(service, Service::Broadcast)
            }
            Property::NoLoss => matches!(service, Service::Stream),
            Property::ConsistentCut => matches!(service, Service::Snapshot),
            Property::AllArrive => matches!(service, Service::Barrier),
            Property::Quiescence => matches!(service, Service::Termination),
            Property::OneView => matches!(service, Service::Membership),
            Property::UniqueNames | Property::SmallNames => matches!(service, Service::Renaming),
            _ => matches!(service, Service::Other),
        }
    }

    /// Whether it is decided when a run has ended, though it may be violated before.
    pub const fn is_of_the_end(self) -> bool {
        use Property::{
            Agreement, DeadlockFreedom, NoLoss, Progress, StarvationFreedom, UniformAgreement,
            Uniqueness, Validity,
        };
        matches!(
            self,
            Progress
                | DeadlockFreedom
                | StarvationFreedom
                | Agreement
                | UniformAgreement
                | Validity
                | Uniqueness
                | NoLoss
                | Property::Own(_)
        )
    }

    /// True if it says what happens in the end, so that a judgement rests on a fair schedule.
    pub const fn is_of_liveness(self) -> bool {
        matches!(self, Property::Progress | Property::DeadlockFreedom | Property::StarvationFreedom)
    }

    /// True if a run or an algorithm that has this property has `other` as well.
    pub fn implies(self, other: Property) -> bool {
        match (self, other) {
            (Property::StarvationFreedom, Property::DeadlockFreedom) => true,
            (Property::Bypass(Some(tight)), Property::Bypass(Some(bound))) => tight <= bound,
            _ => self == other,
        }
    }

    /// What it cannot be judged without.
    pub const fn needs(self) -> Need {
        match self {
            Property::Order | Property::OrderWithMessages => Need::Clocks,
            Property::Fencing | Property::FencedAccess => Need::Fences,
            Property::Validity => Need::Ranks,
            Property::Cost | Property::Topology => Need::Messages,
            _ => Need::Nothing,
        }
    }

    /// How much is made of it where nobody asked for it.
    pub const fn notice(self) -> Notice {
        match self {
            Property::MutualExclusion
            | Property::DeadlockFreedom
            | Property::StarvationFreedom
            | Property::Progress
            | Property::Fencing
            | Property::Agreement
            | Property::Validity
            | Property::Integrity
            | Property::NoCreation
            | Property::Own(_) => Notice::Expected,
            Property::MutualExclusionStrict
            | Property::UniformAgreement
            | Property::TotalOrder
            | Property::Uniqueness
            | Property::Irrevocability
            | Property::OneLeaderAtATime
            | Property::OneLeaderPerTerm => Notice::Broken,
            Property::FreshTerms | Property::SteadyLeader => Notice::Asked,
            _ => Notice::Always,
        }
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Property::Bypass(Some(most)) => f.pad(&alloc::format!("{}={most}", self.name())),
            _ => f.pad(self.name()),
        }
    }
}

impl Ord for Property {
    fn cmp(&self, other: &Self) -> Ordering {
        let most = |property: &Property| match property {
            Property::AtMost(most) | Property::Bypass(Some(most)) => *most,
            _ => 0,
        };
        self.name().cmp(other.name()).then_with(|| most(self).cmp(&most(other)))
    }
}

impl PartialOrd for Property {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A property is written as its name; the *k* of a k-mutex is in the title of its card.
#[cfg(feature = "serde")]
impl serde::Serialize for Property {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_property_is_found_by_its_name_and_by_no_other() {
        for property in Property::ALL {
            assert_eq!(Property::named(property.name()), Some(property));
            assert!(!property.says().is_empty(), "{property} says something");
        }
        assert_eq!(Property::named("somebody's own"), None);
    }
}
