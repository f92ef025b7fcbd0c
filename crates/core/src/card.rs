//! The assumptions, tolerated faults, costs and promises of an algorithm, as data.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use crate::cost::MessageCost;
use crate::graph::Graph;
use crate::label::Layer;
use crate::process::ProcessId;
use crate::property::Property;
use crate::theory::ExpectedCosts;
use crate::time::Delay;

/// Assumptions, tolerated faults, costs and promises of an algorithm.
///
/// Engines reject an environment that does not meet the assumptions on the card. The tables of the
/// documentation and of `tenure list`, and the matrix of tests, are derived from the card.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Card {
    /// Name of the algorithm on the command line.
    pub name: String,
    /// Description of the algorithm, in one line.
    pub title: String,
    /// Service that the algorithm implements.
    pub service: Service,
    /// Publication that describes the algorithm: author, title and year.
    pub paper: &'static str,
    /// Rule by which the algorithm reaches its decisions, such as a token or a quorum.
    pub strategy: AlgorithmClass,
    /// Weakest timing model in which the algorithm keeps its promises.
    pub timing: Timing,
    /// Weakest channel order with which the algorithm keeps its promises.
    pub order: ChannelOrder,
    /// Faults that the algorithm survives.
    pub faults: ToleratedFaults,
    /// Links that the algorithm needs.
    pub topology: Topology,
    /// Configured graph, if messages travel only along its edges; `None` otherwise.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub graph: Option<Arc<Graph>>,
    /// Failure detector that the algorithm needs.
    pub detection: DetectorClass,
    /// Facts about the group that each process knows from the start.
    pub knows: ProcessKnowledge,
    /// Number of messages that the algorithm sends per unit of work.
    pub messages: MessageCost,
    /// Delays, bypass and service order according to the literature. `None` if the card states
    /// none.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub theory: Option<ExpectedCosts>,
    /// Properties promised while the assumptions hold.
    pub promises: Vec<Property>,
    /// Additional properties that the algorithm promises if its timers are accurate. Timers are
    /// accurate if clock rates differ by at most `drift_ppm` and no process is paused. The
    /// algorithm does not promise these properties if timers may fire at any time.
    #[cfg_attr(feature = "serde", serde(rename = "clocked"))]
    pub timed_promises: Vec<Property>,
    /// Maximum drift of the clock rates under which `timed_promises` hold, in parts per million.
    pub drift_ppm: u32,
    /// Timeouts that a user may configure.
    pub timeouts: Vec<ConfigurableTimeout>,
    /// Variants that the algorithm declares.
    pub variants: Vec<Variant>,
}

impl Card {
    /// Creates the card of a lock with the defaults that most locks share. Channels reorder, timing
    /// is asynchronous, and links are complete. Processes have names and know the group size. The
    /// strategy is [`AlgorithmClass::Permission`], no faults are tolerated, and no failure detector
    /// is needed. The card promises mutual exclusion, starvation freedom and fencing. An algorithm
    /// sets the cost, and overrides the fields that differ.
    pub fn mutex(name: &str, title: impl Into<String>, paper: &'static str) -> Self {
        Card {
            name: name.into(),
            title: title.into(),
            service: Service::Mutex,
            paper,
            strategy: AlgorithmClass::Permission,
            timing: Timing::Asynchronous,
            order: ChannelOrder::Reordered,
            faults: ToleratedFaults::none(""),
            topology: Topology::Complete,
            graph: None,
            detection: DetectorClass::None,
            knows: ProcessKnowledge::NON_UNIFORM,
            messages: MessageCost::per_entry("", 0, None),
            theory: None,
            promises: vec![
                Property::MutualExclusion,
                Property::StarvationFreedom,
                Property::Fencing,
            ],
            timed_promises: Vec::new(),
            drift_ppm: 0,
            timeouts: Vec::new(),
            variants: Vec::new(),
        }
    }

    /// Creates the card of an election with the defaults that most elections share. The strategy is
    /// the comparison of ranks, and the cost is counted per election. The card promises that every
    /// election ends, and that eventually all processes agree on the process with the largest rank.
    /// All other defaults are those of [`Card::mutex`].
    pub fn election(name: &str, title: impl Into<String>, paper: &'static str) -> Self {
        Card {
            service: Service::Election,
            strategy: AlgorithmClass::Comparison,
            messages: MessageCost::per_election("", 0, None),
            promises: vec![Property::Agreement, Property::Progress, Property::Validity],
            ..Card::mutex(name, title, paper)
        }
    }

    /// Creates the card of an agreement algorithm with the defaults that most of these algorithms
    /// share. The strategy is a quorum, the only promise is progress, and the cost is counted per
    /// agreement. All other defaults are those of [`Card::mutex`].
    pub fn agreement(
        service: Service,
        name: &str,
        title: impl Into<String>,
        paper: &'static str,
    ) -> Self {
        Card {
            service,
            strategy: AlgorithmClass::Quorum,
            messages: MessageCost::per_agreement("", 0, None),
            promises: vec![Property::Progress],
            ..Card::mutex(name, title, paper)
        }
    }

    /// Adds the properties `more` to [`Card::promises`].
    pub fn with_promises(mut self, more: impl IntoIterator<Item = Property>) -> Self {
        self.promises.extend(more);
        self
    }

    /// Returns all promises under a clock drift of at most `drift_ppm` parts per million. If
    /// `drift_ppm` is `None`, timers may fire at any time. [`Card::timed_promises`] are included
    /// only if `drift_ppm` is at most [`Card::drift_ppm`].
    ///
    /// [`Property::Cost`] is included if a run can be checked against the cost.
    /// [`Property::Topology`] is included if the topology is a ring or a configured graph.
    pub fn promises_under_drift(
        &self,
        drift_ppm: Option<u32>,
    ) -> impl Iterator<Item = Property> + '_ {
        let keep_time = drift_ppm.is_some_and(|drift| drift <= self.drift_ppm);
        let clocked = self.timed_promises.iter().filter(move |_| keep_time);
        let cost = self.messages.is_checkable().then_some(Property::Cost);
        let links = self.has_checkable_links().then_some(Property::Topology);
        self.promises.iter().chain(clocked).copied().chain(cost).chain(links)
    }

    /// Declares that the algorithm sends messages only along the edges of `graph`, which must be
    /// connected. Sets [`Card::topology`] to [`Topology::Graph`].
    #[must_use]
    pub fn on_graph(self, graph: Arc<Graph>) -> Self {
        Card { topology: Topology::Graph, graph: Some(graph), ..self }
    }

    /// Returns true if a monitor can check that messages use only the links of the topology. This
    /// is the case if the topology is a ring or a configured graph.
    pub fn has_checkable_links(&self) -> bool {
        self.topology.is_ring() || self.graph.is_some()
    }

    /// Returns the number of processes that may be inside the critical section at the same time: 1,
    /// the *k* of a k-mutex, or the group size if only neighbours exclude each other.
    pub fn max_inside(&self) -> u32 {
        if let Some(conflicts) = self.conflict_graph() {
            return conflicts.vertex_count();
        }
        let most = self.promises.iter().find_map(|promise| match promise {
            Property::KExclusion(most) => Some(*most),
            _ => None,
        });
        most.unwrap_or(1)
    }

    /// Returns the conflict graph: two neighbours in this graph must not be inside the critical
    /// section at the same time. Returns `None` if the card has no graph, or does not promise
    /// [`Property::LocalMutualExclusion`].
    pub fn conflict_graph(&self) -> Option<&Arc<Graph>> {
        let graph = self.graph.as_ref()?;
        self.promises.contains(&Property::LocalMutualExclusion).then_some(graph)
    }

    /// Returns true if the card promises [`Property::Fencing`], always or only under accurate
    /// timers. Every entry to the critical section then carries a fencing token.
    pub fn is_fenced(&self) -> bool {
        self.promises
            .iter()
            .chain(&self.timed_promises)
            .any(|promise| *promise == Property::Fencing)
    }

    /// Returns the bound of the first promise of [`Property::Bypass`]. Returns `None` if the card
    /// promises no bound on bypass. Bypass is the number of times that one other process enters
    /// while a process waits.
    pub fn promised_bypass_bound(&self) -> Option<u32> {
        self.promises.iter().find_map(|promise| match promise {
            Property::Bypass(most) => *most,
            _ => None,
        })
    }

    /// Returns [`Property::KExclusion`] with the result of [`Card::max_inside`] if `property` is
    /// `KExclusion`. Returns any other property unchanged.
    pub fn resolve_max_inside(&self, property: Property) -> Property {
        match property {
            Property::KExclusion(_) => Property::KExclusion(self.max_inside()),
            property => property,
        }
    }
}

/// Service that a protocol offers to its local user. The service determines which monitors judge a
/// run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Service {
    /// Mutual exclusion.
    Mutex,
    /// Leader election.
    Election,
    /// Mutual exclusion and leader election, offered by one protocol. Its name in tables and traces
    /// is `office`.
    #[cfg_attr(feature = "serde", serde(rename = "office"))]
    MutexAndElection,
    /// Streams of numbered items between pairs of processes, sent over a reliable channel.
    Stream,
    /// Consensus on one value.
    Consensus,
    /// Broadcast of items to all processes.
    Broadcast,
    /// Consistent snapshots of a group.
    Snapshot,
    /// A barrier: no process leaves a round before all processes have arrived in this round.
    Barrier,
    /// Computation with detection of its termination.
    Termination,
    /// Group membership.
    Membership,
    /// Renaming from a large to a small name space.
    Renaming,
    /// A replicated log.
    Log,
    /// Waves: messages that reach the whole group and then return to their initiator.
    Wave,
    /// A spanning tree of a graph.
    SpanningTree,
    /// The drinking philosophers: neighbours share bottles, and each session needs some of the
    /// bottles of its process.
    Drinking,
    /// Group mutual exclusion: two processes may be inside the critical section at the same time
    /// only if they are in the same forum.
    Forum,
    /// Exclusive use of several resources. The service detects deadlocks.
    Resources,
    /// A lock that several processes can share, or that one process holds as a whole.
    Shares,
    /// Any other service, such as a failure detector, or an application that runs under an elected
    /// leader. An unknown name of a service is also deserialized to this variant.
    #[cfg_attr(feature = "serde", serde(other))]
    Other,
}

impl Service {
    /// Returns the name of the service in tables and traces.
    pub const fn name(self) -> &'static str {
        match self {
            Service::Mutex => "mutex",
            Service::Election => "election",
            Service::MutexAndElection => "office",
            Service::Stream => "stream",
            Service::Consensus => "consensus",
            Service::Broadcast => "broadcast",
            Service::Snapshot => "snapshot",
            Service::Barrier => "barrier",
            Service::Termination => "termination",
            Service::Membership => "membership",
            Service::Renaming => "renaming",
            Service::Log => "log",
            Service::Wave => "wave",
            Service::SpanningTree => "spanning-tree",
            Service::Drinking => "drinking",
            Service::Forum => "forum",
            Service::Resources => "resources",
            Service::Shares => "shares",
            Service::Other => "other",
        }
    }

    /// Returns the protocol layer whose messages the cost of this service counts: [`Layer::Mutex`]
    /// for a lock, with or without an election, and [`Layer::Election`] for an election. Returns
    /// `None` for all other services.
    pub const fn counted_layer(self) -> Option<Layer> {
        match self {
            Service::Mutex | Service::MutexAndElection => Some(Layer::Mutex),
            Service::Election => Some(Layer::Election),
            _ => None,
        }
    }
}

/// Rule by which an algorithm reaches its decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
pub enum AlgorithmClass {
    /// One process decides.
    Centralised,
    /// The holder of the token may enter the critical section. A lock between neighbours has one
    /// token for each edge, such as a fork.
    Token,
    /// The permission of other processes is needed to enter the critical section. Most algorithms
    /// of this class need the permission of all other processes. Some need fewer: a k-mutex needs
    /// N − k permissions. [`Card::mutex`] sets this class by default.
    Permission,
    /// The permission of a quorum is needed to enter the critical section or to decide.
    Quorum,
    /// Candidates are compared, and the largest one wins.
    Comparison,
    /// Information spreads to all processes: each process sends messages to all others or to its
    /// neighbours.
    Flooding,
    /// The algorithm is a composition of other protocols.
    Composition,
}

/// Timing models, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
pub enum Timing {
    /// No bound on message delays, step durations or clock drift; every message arrives eventually.
    Asynchronous,
    /// Bounds on delays, step durations and clock drift hold after some unknown time.
    Partial,
    /// Bounds on delays, step durations and clock drift hold always and are known.
    Synchronous,
    /// All processes step together in rounds. In each round they send messages, receive the
    /// messages that all other processes have sent in this round, and then change their states. If
    /// a process crashes while it sends, its messages reach any subset of the receivers.
    Rounds,
}

/// Orders in which a channel delivers, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
pub enum ChannelOrder {
    /// Messages may arrive in any order.
    Reordered,
    /// Each link delivers messages in the order in which they were sent (first in, first out).
    Fifo,
}

/// Faults that an algorithm survives with its promises intact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ToleratedFaults {
    /// True if any number of messages may be lost.
    pub loss: bool,
    /// Number of lost messages per run that the algorithm survives. Has no meaning if `loss` is
    /// true.
    pub max_lost: u32,
    /// True if messages may be duplicated.
    pub duplication: bool,
    /// True if processes may be down from the start, provided that all other processes know which
    /// processes are down.
    pub absence: bool,
    /// Ways in which processes may crash and recover.
    pub crashes: CrashModel,
    /// Maximum number of processes that may crash. `None` if there is no such bound. Has no meaning
    /// if `crashes` is [`CrashModel::None`].
    pub max_crashed: Option<u32>,
    /// True if the algorithm makes progress only while a majority of the processes is up. A
    /// minority waits.
    pub majority: bool,
    /// All faults that the algorithm tolerates, in one sentence, for error messages.
    pub description: &'static str,
}

impl ToleratedFaults {
    /// Creates the fault tolerance of an algorithm that tolerates no faults. Error messages contain
    /// `description`, which states the tolerated faults in one sentence.
    pub const fn none(description: &'static str) -> Self {
        ToleratedFaults {
            loss: false,
            max_lost: 0,
            duplication: false,
            absence: false,
            crashes: CrashModel::None,
            max_crashed: None,
            majority: false,
            description,
        }
    }

    /// Returns a tolerance of duplicated messages and of no other fault.
    pub const fn duplication_only(description: &'static str) -> Self {
        ToleratedFaults { duplication: true, ..ToleratedFaults::none(description) }
    }

    /// Sets `max_lost`, the number of lost messages per run that the algorithm survives.
    pub const fn with_losses(self, max_lost: u32) -> Self {
        ToleratedFaults { max_lost, ..self }
    }

    /// Sets the tolerated crashes: up to `max_crashed` processes may crash, and they stay down. If
    /// `max_crashed` is 0, no process may crash.
    pub const fn with_crashes(self, max_crashed: u32) -> Self {
        let crashes = if max_crashed > 0 { CrashModel::Stop } else { CrashModel::None };
        ToleratedFaults { crashes, max_crashed: Some(max_crashed), ..self }
    }

    /// Adds the condition that the algorithm makes progress only while a majority of the processes
    /// is up.
    pub const fn requiring_majority(self) -> Self {
        ToleratedFaults { majority: true, ..self }
    }

    /// Adds tolerance of processes that are down from the start, provided that all other processes
    /// know which processes are down.
    pub const fn with_initial_crashes(self) -> Self {
        ToleratedFaults { absence: true, ..self }
    }
}

/// Ways in which processes may crash and recover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
pub enum CrashModel {
    /// No process crashes.
    None,
    /// Processes may crash and stay down.
    Stop,
    /// Processes may crash, and recover with their saved state.
    Recovery,
}

/// Links between processes that an algorithm needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Topology {
    /// Links between all pairs of processes.
    Complete,
    /// Links between the coordinator and every other process.
    Star,
    /// Links from each process to the next one on the ring.
    UnidirectionalRing,
    /// Links in both directions between neighbours on the ring.
    BidirectionalRing,
    /// Links between neighbours in a tree.
    Tree,
    /// Links between neighbours in a connected graph.
    Graph,
}

impl Topology {
    /// Returns true if the topology is a ring. On a ring, the process numbers alone determine the
    /// links.
    pub const fn is_ring(self) -> bool {
        matches!(self, Topology::UnidirectionalRing | Topology::BidirectionalRing)
    }

    /// Returns true if `from` may send to `to` in a group of `size` processes. For a topology that
    /// is not a ring, always returns true, because the process numbers alone do not determine its
    /// links.
    pub fn may_have_link(self, size: u32, from: ProcessId, to: ProcessId) -> bool {
        let follows = |one: ProcessId, other: ProcessId| (one.0 + 1) % size == other.0;
        match self {
            Topology::UnidirectionalRing => follows(from, to),
            Topology::BidirectionalRing => follows(from, to) || follows(to, from),
            Topology::Complete | Topology::Star | Topology::Tree | Topology::Graph => true,
        }
    }
}

/// Failure detector that an algorithm needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
pub enum DetectorClass {
    /// No failure detector.
    None,
    /// A detector that in the end suspects every crashed process for ever, and that makes only
    /// finitely many false reports: ◇P of Chandra and Toueg (1996).
    EventuallyPerfect,
    /// A detector that in the end suspects every crashed process for ever, and that makes no false
    /// reports: P of Chandra and Toueg (1996).
    Perfect,
}

/// Knowledge that processes have of their group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ProcessKnowledge {
    /// True if processes know the group size. If true, the algorithm is *non-uniform*. If false,
    /// the algorithm is *uniform*.
    pub size: bool,
    /// True if processes have names or ranks; otherwise they are *anonymous*.
    pub names: bool,
}

impl ProcessKnowledge {
    /// Processes have names and know the group size.
    pub const NON_UNIFORM: ProcessKnowledge = ProcessKnowledge { size: true, names: true };
    /// Processes have names and do not use the group size.
    pub const UNIFORM: ProcessKnowledge = ProcessKnowledge { size: false, names: true };
    /// Processes have no names and know the group size.
    pub const ANONYMOUS: ProcessKnowledge = ProcessKnowledge { size: true, names: false };

    /// Returns the words with which the literature describes an algorithm whose processes have this
    /// knowledge. The first word is `non-uniform` if processes know the group size, and `uniform`
    /// otherwise. If processes have no names, the second word is `anonymous`.
    pub fn uniformity_terms(self) -> impl Iterator<Item = &'static str> {
        let size = if self.size { "non-uniform" } else { "uniform" };
        [Some(size), (!self.names).then_some("anonymous")].into_iter().flatten()
    }
}

/// A timeout of an algorithm that a user may configure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ConfigurableTimeout {
    /// Name of the timeout on the command line.
    pub name: &'static str,
    /// Description of the period that the timeout limits, in words.
    pub description: &'static str,
    /// Length of the timeout for the configuration of the [`Card`], measured by the clock of the
    /// process.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub delay: Delay,
}

impl ConfigurableTimeout {
    /// Creates a timeout.
    pub const fn new(name: &'static str, description: &'static str, delay: Delay) -> Self {
        ConfigurableTimeout { name, description, delay }
    }
}

/// A variant of an algorithm: the algorithm with one changed rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Variant {
    /// Name of the variant on the command line.
    pub name: &'static str,
    /// Difference between the variant and the unchanged algorithm, in one sentence.
    pub description: &'static str,
    /// True if the promises on the algorithm's card hold for the variant. False for a known mistake
    /// that is kept as a demonstration.
    pub sound: bool,
    /// Number of the known result that the variant demonstrates, such as 7-L2. The list of known
    /// results is in `docs/checklist.md`. Empty if the variant demonstrates no known result.
    #[cfg_attr(feature = "serde", serde(rename = "verdict"))]
    pub known_result: &'static str,
    /// Command-line options of `tenure check` that demonstrate the variant. If the first word is
    /// `simulate`, the other words are options of `tenure simulate`. Empty if there is no
    /// demonstration.
    pub shown_by: &'static str,
}

impl Variant {
    /// Returns the command line that demonstrates this variant of `algorithm`, without the program
    /// name `tenure`. Returns `None` if there is no demonstration.
    pub fn demonstration_command(&self, algorithm: &str) -> Option<String> {
        let (verb, options) = match self.shown_by.strip_prefix("simulate ") {
            Some(options) => ("simulate", options),
            None => ("check", self.shown_by),
        };
        let own = match options.contains("--variant") {
            true => String::new(),
            false => format!("--variant {} ", self.name),
        };
        (!options.is_empty()).then(|| format!("{verb} {algorithm} {own}{options}"))
    }
}
