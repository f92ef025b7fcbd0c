//! The properties of runs, with everything that Tenure knows about each.

use core::cmp::Ordering;
use core::fmt;

use crate::card::Service;

/// A property of runs: promised by cards, judged by monitors, named in reports.
///
/// Properties are ordered by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Property {
    /// At most one process is inside the critical section. A crash ends an entry.
    MutualExclusion,
    /// At most this many processes are inside the critical section.
    AtMost(u32),
    /// No two neighbours in the graph of the lock are inside together. A crash ends an entry.
    LocalMutualExclusion,
    /// At most one process is inside. A process that crashes inside stays inside until it recovers.
    MutualExclusionStrict,
    /// Every process that waits for an answer, an outcome or a leader gets it eventually. For locks
    /// see [`Property::StarvationFreedom`] and [`Property::DeadlockFreedom`].
    Progress,
    /// While processes wait for the critical section, some process enters again and again, though
    /// not necessarily every one of them. Schedules are weakly fair, and every process inside
    /// leaves.
    DeadlockFreedom,
    /// Every process that waits for the critical section enters eventually; also called lockout
    /// freedom. Schedules are weakly fair, and every process inside leaves. It implies
    /// [`Property::DeadlockFreedom`]. No bound on bypass implies it, because under a deadlock no
    /// process enters twice.
    StarvationFreedom,
    /// The fencing token of each entry is higher than those of all earlier entries.
    Fencing,
    /// First come, first served (FIFO): of two requests, the one that happened before the other is
    /// served first. The doorway is the step in which a process issues its request (the command
    /// `enter`). *Before* is Lamport's relation by the lock's own messages, because processes
    /// without a shared clock have no other relation. No lock has an earlier doorway. Some locks
    /// have a later one, such as the arrival of the request at a coordinator, or the creation of a
    /// key in a queue. Such a lock may violate this property although it is FIFO after its own
    /// doorway. A lock in shared memory has the doorway that its paper defines.
    Order,
    /// Like [`Property::Order`], but *before* includes the application's messages.
    OrderWithMessages,
    /// Bounded bypass: one process enters at most this often while another waits. With `None` the
    /// bypass is only measured, and the property is never violated. Waiting begins with the
    /// request, and in shared memory with the end of the doorway. This is not a liveness property.
    Bypass(Option<u32>),
    /// Eventually all processes believe in one leader, and the terms of a process never decrease.
    /// For consensus: no two processes decide differently. For broadcast: an item that one correct
    /// process delivers is eventually delivered by all correct processes.
    Agreement,
    /// Eventually every process that believes in a leader believes in the largest live rank. For
    /// consensus: every decision was proposed.
    Validity,
    /// Eventually every process that believes in a leader believes in the smallest live rank. It
    /// replaces [`Property::Validity`] in an election of the smallest.
    SmallestLeads,
    /// For broadcast: an item that any process delivers, even one that crashes later, is eventually
    /// delivered by all correct processes.
    UniformAgreement,
    /// No process reports a decision or an item twice.
    Integrity,
    /// Every delivered item was broadcast.
    NoCreation,
    /// Any two processes deliver the items that both deliver in the same order.
    TotalOrder,
    /// No process delivers an item before one that happened before it.
    CausalOrder,
    /// Eventually exactly one process leads, unless no process believes in a leader.
    Uniqueness,
    /// Without terms, no process changes its leader within one election.
    Irrevocability,
    /// No two processes lead at the same time, whatever their term numbers.
    OneLeaderAtATime,
    /// No two processes lead at the same time with the same term number.
    OneLeaderPerTerm,
    /// Groups with different leaders may exist side by side, as in a partition. No process follows
    /// a leader before that process leads its group. In the end each leader leads the group of all
    /// processes that follow it. [`Property::Agreement`] demands a single group in the end.
    OneLeaderPerGroup,
    /// A new leader has a higher term number than any under which it led before.
    FreshTerms,
    /// No leader is deposed while a majority believes in it.
    SteadyLeader,
    /// An entry or an election takes as many messages as the card of the algorithm states.
    Cost,
    /// Messages go only to neighbours, on the ring or in the graph that the card of the algorithm
    /// names.
    Topology,
    /// Every item of a stream arrives exactly once, in order.
    NoLoss,
    /// No process commits a transaction that another aborts.
    Atomicity,
    /// An acknowledged write is never lost.
    Durability,
    /// All processes that join a wave join one tree.
    OneTree,
    /// The edges that all processes name are those of the unique minimum spanning tree.
    MinimumSpanningTree,
    /// A snapshot shows a state that could have occurred.
    ConsistentCut,
    /// No process leaves a barrier before all have arrived.
    AllArrive,
    /// A wave returns only when all processes have taken part.
    AllReached,
    /// The end of a computation is announced only when no process works for it any more.
    Quiescence,
    /// No two processes hold a resource at the same time.
    OneHolder,
    /// A process is aborted only if it is part of a deadlock.
    NoPhantom,
    /// Sessions that exclude each other are not in progress at the same time. Two sessions exclude
    /// each other if they use one bottle, attend different forums, or if one of them holds a shared
    /// lock as a whole.
    SessionExclusion,
    /// Views with the same number are equal.
    OneView,
    /// No two processes have the same new name.
    UniqueNames,
    /// New names are between 1 and N + t, where N is the group size and t the number of tolerated
    /// crashes.
    SmallNames,
    /// Two logs with an entry of the same term at the same index are equal up to that index.
    LogMatching,
    /// A leader's log contains every entry that was committed in an earlier term.
    LeaderCompleteness,
    /// All processes apply the same entries of a log, in its order.
    StateMachineSafety,
    /// A read observes everything that any process had observed before the read was issued.
    LinearizableReads,
    /// An appended entry is committed at most once, and a declined one never.
    AtMostOnce,
    /// The protected resource accepts no fence below one that it has seen.
    FencedAccess,
    /// No increment of the counter in the protected resource is lost.
    Counter,
    /// No message is received before it is sent.
    Trace,
    /// A step from a legitimate state leads to a legitimate state. A property of self-stabilizing
    /// systems ([`crate::stabilization`]).
    Closure,
    /// From every state a legitimate state is reached, in every schedule. A property of
    /// self-stabilizing systems ([`crate::stabilization`]).
    Convergence,
    /// A custom property with its name.
    Custom(&'static str),
}

/// Input that a monitor needs to judge a property, besides commands and events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// Only commands and events are needed.
    Nothing,
    /// Vector clocks of the requests.
    Clocks,
    /// Entries that carry fences.
    Fences,
    /// Ranks of the processes.
    Ranks,
    /// Messages that processes send.
    Messages,
}

/// Condition under which a report includes a property that the user did not request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReportCondition {
    /// The property is reported only on request.
    OnRequest,
    /// The property is reported if a run violates it.
    OnViolation,
    /// The property is reported in every run, whether violated or not.
    Always,
    /// Expected of every service, with or without a card: a violation is a failure.
    Expected,
}

/// Description of [`Property::Bypass`], with or without a bound.
const BYPASS_DESCRIPTION: &str = "Measure how often one process enters while another waits; \
    bounded-bypass=2: judge that it is no more than twice";

/// Description of [`Property::Order`].
const ORDER_DESCRIPTION: &str = "First come, first served (FIFO): no request is served before one \
    that happened before it; the doorway is the step that issues the request, not its arrival";

/// Description of [`Property::LocalMutualExclusion`].
const LOCAL_DESCRIPTION: &str = "No two neighbours inside, of a lock on a graph";

/// Description of [`Property::DeadlockFreedom`].
const DEADLOCK_FREEDOM_DESCRIPTION: &str =
    "While processes wait, some process enters (weak fairness)";

/// Description of [`Property::StarvationFreedom`].
const STARVATION_FREEDOM_DESCRIPTION: &str =
    "Every process that waits enters: lockout freedom (weak fairness)";

impl Property {
    /// All properties except custom ones. A card sets the *k* of [`Property::AtMost`], and the
    /// caller sets the bound of [`Property::Bypass`].
    pub const ALL: [Property; 53] = [
        Property::MutualExclusion,
        Property::AtMost(1),
        Property::LocalMutualExclusion,
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
        Property::SmallestLeads,
        Property::OneLeaderPerGroup,
        Property::UniformAgreement,
        Property::Integrity,
        Property::NoCreation,
        Property::TotalOrder,
        Property::CausalOrder,
        Property::FreshTerms,
        Property::SteadyLeader,
        Property::Cost,
        Property::Topology,
        Property::NoLoss,
        Property::Atomicity,
        Property::Durability,
        Property::OneTree,
        Property::MinimumSpanningTree,
        Property::ConsistentCut,
        Property::AllArrive,
        Property::AllReached,
        Property::Quiescence,
        Property::OneHolder,
        Property::NoPhantom,
        Property::SessionExclusion,
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
        Property::Closure,
        Property::Convergence,
    ];

    /// Returns the name and the description.
    const fn name_and_description(self) -> (&'static str, &'static str) {
        match self {
            Property::MutualExclusion => ("mutual-exclusion", "At most one inside"),
            Property::AtMost(_) => ("at-most-k", "At most k inside, of a k-mutex"),
            Property::LocalMutualExclusion => ("local-mutual-exclusion", LOCAL_DESCRIPTION),
            Property::MutualExclusionStrict => {
                ("mutual-exclusion-strict", "At most one inside, though a crash ends no entry")
            }
            Property::DeadlockFreedom => ("deadlock-freedom", DEADLOCK_FREEDOM_DESCRIPTION),
            Property::StarvationFreedom => ("starvation-freedom", STARVATION_FREEDOM_DESCRIPTION),
            Property::Progress => ("progress", "Every process that waits gets its answer"),
            Property::Fencing => ("fencing", "Fences strictly increase"),
            Property::Order => ("order", ORDER_DESCRIPTION),
            Property::OrderWithMessages => {
                ("order-with-messages", "Like order, counting the application's messages too")
            }
            Property::Bypass(_) => ("bounded-bypass", BYPASS_DESCRIPTION),
            Property::Validity => {
                ("validity", "The largest live rank leads; a decision was proposed")
            }
            Property::Uniqueness => ("uniqueness", "Exactly one process leads in the end"),
            Property::Irrevocability => {
                ("irrevocability", "No process changes its leader in one election")
            }
            Property::OneLeaderAtATime => ("one-leader-at-a-time", "No two leaders at once"),
            Property::OneLeaderPerTerm => {
                ("one-leader-per-term", "No two leaders under one number")
            }
            Property::SmallestLeads => ("smallest-leads", "The smallest live rank leads"),
            Property::OneLeaderPerGroup => {
                ("one-leader-per-group", "Each process follows a leader that leads its group")
            }
            Property::FreshTerms => {
                ("fresh-terms", "No process leads again in a term that has ended")
            }
            Property::SteadyLeader => {
                ("steady-leader", "No leader is deposed while a majority believes in it")
            }
            Property::Cost => ("cost", "As many messages as the card states"),
            Property::Topology => ("topology", "Messages go only to neighbours on the ring"),
            Property::FencedAccess => {
                ("fenced-access", "The resource accepts no fence below one that it has seen")
            }
            Property::Counter => ("counter", "No increment of the resource's counter is lost"),
            Property::Trace => ("trace", "Nothing is received before it is sent"),
            Property::Closure => ("closure", "Legitimate states lead to legitimate states only"),
            Property::Convergence => {
                ("convergence", "Every state leads to a legitimate state, in every schedule")
            }
            Property::Custom(name) => (name, "A custom property"),
            _ => self.agreement_name_and_description(),
        }
    }

    /// Returns the name and the description of an agreement property.
    const fn agreement_name_and_description(self) -> (&'static str, &'static str) {
        match self {
            Property::NoLoss => ("no-loss", "Every item arrives exactly once, in order"),
            Property::Atomicity => ("atomicity", "No process commits what another aborts"),
            Property::Durability => ("durability", "An acknowledged write is never lost"),
            Property::OneTree => ("one-tree", "All processes of a wave join one tree"),
            Property::MinimumSpanningTree => {
                ("minimum-spanning-tree", "The named edges are the minimum spanning tree")
            }
            Property::ConsistentCut => {
                ("consistent-cut", "A snapshot shows a state that could have occurred")
            }
            Property::AllArrive => ("all-arrive", "No process leaves before all have arrived"),
            Property::AllReached => {
                ("all-reached", "A wave returns only when all processes have taken part")
            }
            Property::Quiescence => {
                ("quiescence", "An end is announced only when no process works")
            }
            Property::OneHolder => ("one-holder", "No two processes hold one resource"),
            Property::NoPhantom => ("no-phantom", "A process is aborted only if it is deadlocked"),
            Property::SessionExclusion => {
                ("session-exclusion", "No two sessions at once that exclude each other")
            }
            Property::OneView => ("one-view", "Views of one number are the same everywhere"),
            Property::UniqueNames => ("unique-names", "No two processes have the same new name"),
            Property::SmallNames => ("small-names", "New names are at most N + t"),
            Property::LogMatching => {
                ("log-matching", "Logs with a common entry are equal up to it")
            }
            Property::LeaderCompleteness => {
                ("leader-completeness", "A leader has every entry committed before")
            }
            Property::StateMachineSafety => {
                ("state-machine-safety", "All processes apply the same entries in one order")
            }
            Property::LinearizableReads => {
                ("linearizable-reads", "A read sees everything known before it was issued")
            }
            Property::AtMostOnce => {
                ("at-most-once", "An entry is committed at most once, a declined one never")
            }
            Property::TotalOrder => ("total-order", "All deliver in one order"),
            Property::CausalOrder => {
                ("causal-order", "An item is delivered after all that happened before it")
            }
            Property::NoCreation => ("no-creation", "Every delivered item was broadcast"),
            Property::Integrity => ("integrity", "No process reports a result twice"),
            Property::UniformAgreement => {
                ("uniform-agreement", "All correct processes deliver what any process delivers")
            }
            Property::Agreement => ("agreement", "All agree on one leader, decision or delivery"),
            _ => panic!("the property is not one of agreement"),
        }
    }

    /// Returns the name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        self.name_and_description().0
    }

    /// Returns the description, one line.
    pub const fn description(self) -> &'static str {
        self.name_and_description().1
    }

    /// Returns the property of [`Property::ALL`] with this name.
    pub fn from_name(name: &str) -> Option<Property> {
        Property::ALL.into_iter().find(|property| property.name() == name)
    }

    /// Returns true if the property applies to a service.
    pub const fn applies_to(self, service: Service) -> bool {
        match self {
            Property::Progress => !matches!(service, Service::Mutex),
            Property::MutualExclusion
            | Property::AtMost(_)
            | Property::LocalMutualExclusion
            | Property::MutualExclusionStrict
            | Property::DeadlockFreedom
            | Property::StarvationFreedom
            | Property::Order
            | Property::OrderWithMessages
            | Property::Bypass(_) => matches!(service, Service::Mutex | Service::Office),
            Property::Fencing => {
                matches!(service, Service::Mutex | Service::Office | Service::Shares)
            }
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
            | Property::SmallestLeads
            | Property::OneLeaderPerGroup
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
            Property::UniformAgreement | Property::TotalOrder | Property::CausalOrder => {
                matches!(service, Service::Broadcast)
            }
            Property::NoLoss => matches!(service, Service::Stream),
            Property::ConsistentCut => matches!(service, Service::Snapshot),
            Property::AllArrive => matches!(service, Service::Barrier),
            Property::AllReached => matches!(service, Service::Wave),
            Property::MinimumSpanningTree => matches!(service, Service::SpanningTree),
            Property::OneTree => matches!(service, Service::Wave | Service::Other),
            Property::Quiescence => matches!(service, Service::Termination),
            Property::OneHolder | Property::NoPhantom => matches!(service, Service::Resources),
            Property::SessionExclusion => {
                matches!(service, Service::Drinking | Service::Forum | Service::Shares)
            }
            Property::OneView => matches!(service, Service::Membership),
            // The program that adds a monitor decides.
            Property::Custom(_) => true,
            // No service: `check --from any` judges them without a monitor.
            Property::Closure | Property::Convergence => false,
            Property::UniqueNames | Property::SmallNames => matches!(service, Service::Renaming),
            _ => matches!(service, Service::Other),
        }
    }

    /// Returns true if only the end of a run decides the property, although a step may violate it
    /// earlier.
    pub const fn is_decided_at_end(self) -> bool {
        use Property::{
            Agreement, DeadlockFreedom, NoLoss, OneLeaderPerGroup, Progress, SmallestLeads,
            StarvationFreedom, UniformAgreement, Uniqueness, Validity,
        };
        matches!(
            self,
            Progress
                | DeadlockFreedom
                | StarvationFreedom
                | Agreement
                | UniformAgreement
                | Validity
                | SmallestLeads
                | OneLeaderPerGroup
                | Uniqueness
                | NoLoss
                | Property::Custom(_)
        )
    }

    /// Returns true if the property demands that something happens eventually, so that a judgement
    /// needs a fair schedule.
    pub const fn is_liveness(self) -> bool {
        matches!(self, Property::Progress | Property::DeadlockFreedom | Property::StarvationFreedom)
    }

    /// Returns true if a run or an algorithm that has this property also has the property `other`.
    pub fn implies(self, other: Property) -> bool {
        match (self, other) {
            (Property::StarvationFreedom, Property::DeadlockFreedom)
            | (Property::MutualExclusion, Property::LocalMutualExclusion) => true,
            (Property::Bypass(Some(tight)), Property::Bypass(Some(bound))) => tight <= bound,
            _ => self == other,
        }
    }

    /// Returns the input that a monitor needs to judge the property.
    pub const fn requires(self) -> Requirement {
        match self {
            Property::Order | Property::OrderWithMessages => Requirement::Clocks,
            Property::Fencing | Property::FencedAccess => Requirement::Fences,
            Property::Validity | Property::SmallestLeads => Requirement::Ranks,
            Property::Cost | Property::Topology => Requirement::Messages,
            _ => Requirement::Nothing,
        }
    }

    /// Returns the condition under which a report includes the property without a request.
    pub const fn report_condition(self) -> ReportCondition {
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
            | Property::Custom(_) => ReportCondition::Expected,
            Property::MutualExclusionStrict
            | Property::UniformAgreement
            | Property::TotalOrder
            | Property::CausalOrder
            | Property::Uniqueness
            | Property::Irrevocability
            | Property::OneLeaderAtATime
            | Property::OneLeaderPerTerm => ReportCondition::OnViolation,
            Property::FreshTerms | Property::SteadyLeader => ReportCondition::OnRequest,
            _ => ReportCondition::Always,
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

/// Serializes as the name; the *k* of a k-mutex is in the title of its card.
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
    fn finds_each_property_by_name() {
        for property in Property::ALL {
            assert_eq!(Property::from_name(property.name()), Some(property));
            assert!(!property.description().is_empty(), "{property} says something");
        }
        assert_eq!(Property::from_name("no-such-property"), None);
    }
}
