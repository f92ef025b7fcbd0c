//! The properties of runs: names, descriptions, services, and the input that their monitors need.

use core::cmp::Ordering;
use core::fmt;

use crate::card::Service;

/// Defines the properties. A definition begins with the name of the variant. Then come the type of
/// its parameter, if it has one, and the parameter's value in [`Property::ALL`]. Then come the
/// services to which the property applies, the name on the command line and in reports, and the
/// description.
macro_rules! properties {
    ($($(#[$doc:meta])* $Name:ident $(($Parameter:ty = $default:expr))?
        [$($Service:ident)*] $name:literal: $description:literal;)+) => {
        /// A property that a run of an algorithm has or violates. An algorithm's
        /// [`Card`](crate::Card) promises properties, monitors judge them, and reports name them.
        ///
        /// Properties are ordered by their names, and then by their parameters.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Property {
            $($(#[$doc])* $Name $(($Parameter))?,)+
            /// A property that a program defines for itself, with its name.
            Custom(&'static str),
        }

        impl Property {
            /// All properties except custom ones. In this list, the *k* of [`Property::KExclusion`]
            /// is 1, and [`Property::Bypass`] has no bound. The caller replaces these parameters.
            pub const ALL: [Property; 53] = [$(Property::$Name $(($default))?),+];

            /// Returns the name on the command line and in reports.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Property::$Name { .. } => $name,)+
                    Property::Custom(name) => name,
                }
            }

            /// Returns the description of the property, in one line.
            pub const fn description(self) -> &'static str {
                match self {
                    $(Property::$Name { .. } => $description,)+
                    Property::Custom(_) => "A custom property",
                }
            }

            /// Returns true if the property applies to a service.
            pub const fn applies_to(self, service: Service) -> bool {
                match (self, service) {
                    (Property::Progress, service) => !matches!(service, Service::Mutex),
                    // A custom property applies to each service for which its program adds a
                    // monitor.
                    (Property::Custom(_), _) => true,
                    $($((Property::$Name { .. }, Service::$Service) => true,)*)+
                    _ => false,
                }
            }
        }
    };
}

properties! {
    /// At most one process is inside the critical section. A crash removes a process from the
    /// critical section.
    MutualExclusion [Mutex MutexAndElection] "mutual-exclusion": "At most one inside";
    /// At most *k* processes are inside the critical section. A crash removes a process from the
    /// critical section.
    KExclusion(u32 = 1) [Mutex MutexAndElection] "at-most-k": "At most k inside, of a k-mutex";
    /// No two neighbours in the conflict graph of the lock are inside the critical section at the
    /// same time. A crash removes a process from the critical section.
    LocalMutualExclusion [Mutex MutexAndElection] "local-mutual-exclusion":
        "No two neighbours inside, of a lock on a graph";
    /// At most one process is inside the critical section. A process that crashes inside stays
    /// inside until it recovers.
    MutualExclusionStrict [Mutex MutexAndElection] "mutual-exclusion-strict":
        "At most one inside, though a crash ends no entry";
    /// As long as processes wait for the critical section, some process enters again and again. One
    /// process may nevertheless wait forever. The property assumes that schedules are weakly fair,
    /// and that every process that enters leaves again.
    DeadlockFreedom [Mutex MutexAndElection] "deadlock-freedom":
        "While processes wait, some process enters (weak fairness)";
    /// Every process that waits for the critical section enters eventually. This is also called
    /// lockout freedom. The property assumes that schedules are weakly fair, and that every process
    /// that enters leaves again. This property implies [`Property::DeadlockFreedom`]. A bound on
    /// bypass does not imply this property: in a deadlock no process enters, so no process is
    /// bypassed.
    StarvationFreedom [Mutex MutexAndElection] "starvation-freedom":
        "Every process that waits enters: lockout freedom (weak fairness)";
    /// Every process that waits for an answer, an outcome or a leader gets it eventually. For locks
    /// see [`Property::StarvationFreedom`] and [`Property::DeadlockFreedom`].
    Progress [] "progress": "Every process that waits gets its answer";
    /// The fencing token of each entry is higher than the tokens of all earlier entries.
    Fencing [Mutex MutexAndElection Shares] "fencing": "Fences strictly increase";
    /// First come, first served (FIFO): a request that happened before another request is served
    /// first. *Happened before* is Lamport's relation over the messages of the lock. A request
    /// happens in the step in which a process issues the command `enter`. For a lock in shared
    /// memory, the doorway in the lock's paper replaces this step. Some locks order requests only
    /// by a later step, such as the arrival of the request at a coordinator. These locks may
    /// violate this property.
    FirstComeFirstServed [Mutex MutexAndElection] "order":
        "First come, first served (FIFO): no request is served before one that happened before \
         it; the doorway is the step that issues the request, not its arrival";
    /// First come, first served, as in [`Property::FirstComeFirstServed`], with one difference: the
    /// relation *happened before* also includes the messages of the application.
    OrderWithMessages [Mutex MutexAndElection] "order-with-messages":
        "Like order, counting the application's messages too";
    /// Bounded bypass: while a process waits, each other process enters at most a fixed number of
    /// times. The field is this number. If the field is `None`, the bypass is only measured, and
    /// the property is never violated. The wait of a process begins with its request, or in shared
    /// memory with the end of the doorway. This is not a liveness property.
    Bypass(Option<u32> = None) [Mutex MutexAndElection] "bounded-bypass":
        "Measure how often one process enters while another waits; bounded-bypass=2: judge that \
         it is no more than twice";
    /// For elections: eventually all live processes that believe in a leader believe in the same
    /// live leader, and the terms that a process reports never decrease. For consensus: no two
    /// processes decide differently. For broadcast: an item that one correct process delivers is
    /// eventually delivered by all correct processes.
    Agreement [Election MutexAndElection Consensus Broadcast] "agreement":
        "All agree on one leader, decision or delivery";
    /// For elections: eventually every process that believes in a leader believes in the live
    /// process with the largest rank. For consensus: some process has proposed every value on which
    /// a process decides.
    Validity [Election MutexAndElection Consensus] "validity":
        "The largest live rank leads; a decision was proposed";
    /// Eventually either no process believes in a leader, or exactly one process believes that it
    /// leads.
    OneLeaderAtEnd [Election MutexAndElection] "uniqueness": "Exactly one process leads in the end";
    /// In an election without terms, no process changes its leader without a cause, such as a crash
    /// or a suspicion.
    Irrevocability [Election MutexAndElection] "irrevocability":
        "No process changes its leader in one election";
    /// No two processes lead at the same time, whatever their term numbers.
    OneLeaderAtATime [Election MutexAndElection] "one-leader-at-a-time": "No two leaders at once";
    /// For elections: no two processes lead at the same time with the same term number. For logs:
    /// no two processes lead in the same term, even one after the other.
    OneLeaderPerTerm [Election MutexAndElection Log] "one-leader-per-term":
        "No two leaders under one number";
    /// Eventually every process that believes in a leader believes in the live process with the
    /// smallest rank. This property replaces [`Property::Validity`] in an election that the
    /// smallest rank wins.
    SmallestLeads [Election MutexAndElection] "smallest-leads": "The smallest live rank leads";
    /// Several leaders may exist at the same time, each with its own group of followers. A process
    /// follows a leader only after the leader has begun to lead the group. In the end, if a live
    /// process follows a leader, this leader is live and leads the group of the process.
    /// [`Property::Agreement`] instead demands a single group in the end.
    OneLeaderPerGroup [Election MutexAndElection] "one-leader-per-group":
        "Each process follows a leader that leads its group";
    /// For broadcast: if any process delivers an item, all correct processes eventually deliver the
    /// item. This must hold even if the first process that delivers the item crashes afterwards.
    UniformAgreement [Broadcast] "uniform-agreement":
        "All correct processes deliver what any process delivers";
    /// No process reports a decision, an item or the answer to a command twice. After a crash and a
    /// recovery, a process may report its decision again.
    Integrity [Consensus Broadcast Log] "integrity": "No process reports a result twice";
    /// Every delivered item was broadcast before. For logs: every committed payload was appended
    /// before.
    NoCreation [Broadcast Log] "no-creation": "Every delivered item was broadcast";
    /// Any two processes deliver their common items in the same order.
    TotalOrder [Broadcast] "total-order": "All deliver in one order";
    /// If one item happened before another item, a process that delivers both delivers the earlier
    /// item first.
    CausalOrder [Broadcast] "causal-order":
        "An item is delivered after all that happened before it";
    /// If a process becomes leader again, its term number is higher than in all its earlier terms,
    /// even those before a crash.
    FreshTerms [Election MutexAndElection] "fresh-terms":
        "No process leads again in a term that has ended";
    /// No live leader is deposed while a majority of the processes believes in it.
    SteadyLeader [Election MutexAndElection] "steady-leader":
        "No leader is deposed while a majority believes in it";
    /// The number of messages for an entry into the critical section, or for an election, is within
    /// the bounds on the algorithm's [`Card`](crate::Card).
    Cost [Mutex Election MutexAndElection] "cost": "As many messages as the card states";
    /// Messages go only to neighbours, on the ring or in the graph that the algorithm's
    /// [`Card`](crate::Card) names.
    Topology [Mutex Election MutexAndElection] "topology":
        "Messages go only along the ring or graph";
    /// Every item of a stream arrives exactly once, in order. A crash or a recovery of a process
    /// begins all its streams anew.
    ExactlyOnceInOrder [Stream] "no-loss": "Every item arrives exactly once, in order";
    /// No process commits a transaction that another aborts.
    Atomicity [Other] "atomicity": "No process commits what another aborts";
    /// An acknowledged write is never lost.
    Durability [Log Other] "durability": "An acknowledged write is never lost";
    /// All processes that join a wave join one tree.
    OneTree [Wave Other] "one-tree": "All processes of a wave join one tree";
    /// The edges that all processes report are exactly those of the unique minimum spanning tree.
    MinimumSpanningTree [SpanningTree] "minimum-spanning-tree":
        "The named edges are the minimum spanning tree";
    /// A snapshot shows a state that could have occurred.
    ConsistentCut [Snapshot] "consistent-cut": "A snapshot shows a state that could have occurred";
    /// No process leaves a round of a barrier before all processes have arrived in this round.
    NoEarlyDeparture [Barrier] "all-arrive": "No process leaves before all have arrived";
    /// A wave returns only when all processes have taken part.
    AllReached [Wave] "all-reached": "A wave returns only when all processes have taken part";
    /// The end of a computation is announced only when no work of the computation is in progress or
    /// in flight.
    NoFalseTermination [Termination] "quiescence": "An end is announced only when no process works";
    /// No two processes hold the same resource at the same time.
    OneHolder [Resources] "one-holder": "No two processes hold one resource";
    /// A process is aborted only if it is part of a deadlock.
    NoPhantomDeadlock [Resources] "no-phantom": "A process is aborted only if it is deadlocked";
    /// Two conflicting sessions are never in progress at the same time. Sessions of drinking
    /// philosophers conflict if they use the same bottle. Sessions of group mutual exclusion
    /// conflict if they attend different forums. Sessions of a shared lock conflict if one of them
    /// holds the whole lock, or if there are more sessions than permits.
    SessionExclusion [Drinking Forum Shares] "session-exclusion":
        "No two sessions at once that exclude each other";
    /// Views with the same number are equal.
    ViewAgreement [Membership] "one-view": "Views of one number are the same everywhere";
    /// No two processes have the same new name.
    UniqueNames [Renaming] "unique-names": "No two processes have the same new name";
    /// New names are between 1 and N + t, where N is the group size and t the number of tolerated
    /// crashes.
    NamesInRange [Renaming] "small-names": "New names are at most N + t";
    /// If two logs have an entry of the same term at the same index, the logs are equal up to that
    /// index.
    LogMatching [Log] "log-matching": "Logs with a common entry are equal up to it";
    /// A leader's log contains every entry that was committed in an earlier term.
    LeaderCompleteness [Log] "leader-completeness": "A leader has every entry committed before";
    /// All processes apply the same entries of a log, in the order of the log.
    StateMachineSafety [Log] "state-machine-safety":
        "All processes apply the same entries in one order";
    /// A read observes every entry that was known to be committed, at any process, before the read
    /// was issued.
    LinearizableReads [Log] "linearizable-reads":
        "A read sees everything known before it was issued";
    /// A payload is committed at most as often as it was appended. A declined append command does
    /// not count.
    AtMostOnce [Log] "at-most-once": "An entry is committed at most once, a declined one never";
    /// The protected resource rejects every access with a fence that is lower than the highest
    /// accepted fence.
    FencedAccess [Other] "fenced-access":
        "The resource accepts no fence below one that it has seen";
    /// No increment of the counter in the protected resource is lost.
    NoLostUpdate [Other] "counter": "No increment of the resource's counter is lost";
    /// No message is received before it is sent, and the entries and exits of a process alternate.
    /// This is a property of recorded traces.
    WellFormedTrace [Other] "trace": "Sends precede receipts, and entries precede exits";
    // `Closure` and `Convergence` apply to no service and have no monitor. `check --from any`
    // judges them.
    /// A step from a legitimate state leads to a legitimate state. A property of self-stabilizing
    /// systems ([`crate::stabilization`]).
    Closure [] "closure": "Legitimate states lead to legitimate states only";
    /// In every schedule, each state leads to a legitimate state. A property of self-stabilizing
    /// systems ([`crate::stabilization`]).
    Convergence [] "convergence": "Every state leads to a legitimate state, in every schedule";
}

/// Input that a monitor needs besides commands and events to judge a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequiredInput {
    /// No input besides commands and events.
    Nothing,
    /// Vector clocks of the requests.
    Clocks,
    /// Fencing tokens of the entries to the critical section.
    Fences,
    /// Ranks of the processes.
    Ranks,
    /// Messages that processes send to each other.
    Messages,
}

/// Level at which a report of a run includes a property, from the lowest to the highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReportLevel {
    /// The property is reported only on request.
    OnRequest,
    /// The property is reported if a run violates it.
    OnViolation,
    /// The property is reported in every run, whether violated or not.
    Always,
    /// The property is reported in every run, and a violation makes the run fail. If the run has a
    /// list of failure properties, only violations of listed, implied and custom properties make
    /// the run fail.
    Expected,
}

impl Property {
    /// Returns the property in [`Property::ALL`] with this name. Returns `None` if there is none.
    pub fn from_name(name: &str) -> Option<Property> {
        Property::ALL.into_iter().find(|property| property.name() == name)
    }

    /// Returns true if the final state of a run decides the property. Before the end, a run without
    /// a violation is then undecided. A step may violate the property earlier. The result is also
    /// true for custom properties, because their monitors may judge the final state.
    pub const fn is_decided_at_end(self) -> bool {
        matches!(
            self,
            Property::Progress
                | Property::DeadlockFreedom
                | Property::StarvationFreedom
                | Property::Agreement
                | Property::UniformAgreement
                | Property::Validity
                | Property::SmallestLeads
                | Property::OneLeaderPerGroup
                | Property::OneLeaderAtEnd
                | Property::ExactlyOnceInOrder
                | Property::Custom(_)
        )
    }

    /// Returns true if the property demands that every waiting process, or some waiting process, is
    /// served eventually. Such a property can be judged only under a fair schedule. Properties of
    /// the final state, such as agreement on a leader, are not included.
    pub const fn requires_fair_schedule(self) -> bool {
        matches!(self, Property::Progress | Property::DeadlockFreedom | Property::StarvationFreedom)
    }

    /// Returns true if a run or an algorithm that has this property is known to have the property
    /// `other` as well. The method knows only a few implications. If the result is false, `other`
    /// may still follow from this property.
    pub fn implies(self, other: Property) -> bool {
        match (self, other) {
            (Property::StarvationFreedom, Property::DeadlockFreedom)
            | (Property::MutualExclusion, Property::LocalMutualExclusion) => true,
            (Property::Bypass(Some(tight)), Property::Bypass(Some(bound))) => tight <= bound,
            _ => self == other,
        }
    }

    /// Returns the input that a monitor needs to judge the property.
    pub const fn required_input(self) -> RequiredInput {
        match self {
            Property::FirstComeFirstServed | Property::OrderWithMessages => RequiredInput::Clocks,
            Property::Fencing | Property::FencedAccess => RequiredInput::Fences,
            Property::Validity | Property::SmallestLeads => RequiredInput::Ranks,
            Property::Cost | Property::Topology => RequiredInput::Messages,
            _ => RequiredInput::Nothing,
        }
    }

    /// Returns the level at which a report of a run includes the property.
    pub const fn report_level(self) -> ReportLevel {
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
            | Property::Custom(_) => ReportLevel::Expected,
            Property::MutualExclusionStrict
            | Property::UniformAgreement
            | Property::TotalOrder
            | Property::CausalOrder
            | Property::OneLeaderAtEnd
            | Property::Irrevocability
            | Property::OneLeaderAtATime
            | Property::OneLeaderPerTerm => ReportLevel::OnViolation,
            Property::FreshTerms | Property::SteadyLeader => ReportLevel::OnRequest,
            _ => ReportLevel::Always,
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
            Property::KExclusion(most) | Property::Bypass(Some(most)) => *most,
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

/// Serializes a property as its name, without its parameter. The *k* of [`Property::KExclusion`] is
/// in the title of the algorithm's [`Card`](crate::Card).
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
