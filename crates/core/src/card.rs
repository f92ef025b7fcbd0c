//! What an algorithm assumes, tolerates, costs and promises, as data.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::cost::Cost;
use crate::label::Layer;
use crate::process::ProcessId;
use crate::property::Property;
use crate::theory::Theory;
use crate::time::Delay;

/// What an algorithm assumes, tolerates, costs and promises.
///
/// Engines refuse an environment weaker than the card; the tables of the documentation and of
/// `tenure list`, and the matrix of tests, derive from it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Card {
    /// The name on the command line.
    pub name: String,
    /// What it is in one line.
    pub title: String,
    /// What it offers.
    pub service: Service,
    /// Where it was published.
    pub paper: &'static str,
    /// How it goes about it.
    pub strategy: Strategy,
    /// The weakest model of time that it needs.
    pub timing: Timing,
    /// The weakest order of a channel that it needs.
    pub order: Order,
    /// The faults that it survives.
    pub faults: Faults,
    /// Who must be able to reach whom.
    pub topology: Topology,
    /// The failure detector that it needs.
    pub detection: Detection,
    /// What processes know of their group.
    pub knows: Knowledge,
    /// What it costs in messages.
    pub messages: Cost,
    /// What the books say of its delays.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub theory: Option<Theory>,
    /// What it promises while its assumptions hold.
    pub promises: Vec<Property>,
    /// What it promises besides while timers keep time: clocks differ by no more than its timeouts
    /// allow for, and nobody is stopped. Where timers fire at any time it is not promised.
    pub clocked: Vec<Property>,
    /// How far the rates of clocks may be off there, in parts in a million.
    pub drift_ppm: u32,
    /// The waiting times that a user may set.
    pub timeouts: Vec<Timeout>,
    /// The switches that it declares.
    pub variants: Vec<Variant>,
}

impl Card {
    /// The card of a lock, with what most locks have in common: channels without order, time
    /// without bounds, everybody reaches everybody, the others' permissions decide, nothing may
    /// fail, nobody is suspected, and entries exclude each other, come about and are fenced. What
    /// an algorithm has otherwise, and its cost, it says beside this.
    pub fn mutex(name: &str, title: impl Into<String>, paper: &'static str) -> Self {
        Card {
            name: name.into(),
            title: title.into(),
            service: Service::Mutex,
            paper,
            strategy: Strategy::Permission,
            timing: Timing::Asynchronous,
            order: Order::Reordered,
            faults: Faults::none(""),
            topology: Topology::Complete,
            detection: Detection::None,
            knows: Knowledge::NON_UNIFORM,
            messages: Cost::per_entry("", 0, None),
            theory: None,
            promises: vec![
                Property::MutualExclusion,
                Property::StarvationFreedom,
                Property::Fencing,
            ],
            clocked: Vec::new(),
            drift_ppm: 0,
            timeouts: Vec::new(),
            variants: Vec::new(),
        }
    }

    /// The card of an election, with what most elections have in common: as [`Card::mutex`], but
    /// ranks are compared, and in the end all agree on the largest.
    pub fn election(name: &str, title: impl Into<String>, paper: &'static str) -> Self {
        Card {
            service: Service::Election,
            strategy: Strategy::Comparison,
            messages: Cost::per_election("", 0, None),
            promises: vec![Property::Agreement, Property::Progress, Property::Validity],
            ..Card::mutex(name, title, paper)
        }
    }

    /// The card of an algorithm of agreement, with what most of them have in common: as
    /// [`Card::mutex`], but a majority decides, and only that whoever waits is served is promised.
    pub fn agreement(
        service: Service,
        name: &str,
        title: impl Into<String>,
        paper: &'static str,
    ) -> Self {
        Card {
            service,
            strategy: Strategy::Quorum,
            messages: Cost::per_agreement("", 0, None),
            promises: vec![Property::Progress],
            ..Card::mutex(name, title, paper)
        }
    }

    /// Promises this as well.
    pub fn promising(mut self, more: impl IntoIterator<Item = Property>) -> Self {
        self.promises.extend(more);
        self
    }

    /// All that it promises, its cost as well where that is bounded, and who sends to whom where
    /// that is a ring, where the rates of clocks are off by so many parts in a million, or,
    /// where nothing is said, timers fire at any time.
    pub fn promised(&self, drift_ppm: Option<u32>) -> impl Iterator<Item = Property> + '_ {
        let keep_time = drift_ppm.is_some_and(|drift| drift <= self.drift_ppm);
        let clocked = self.clocked.iter().filter(move |_| keep_time);
        let cost = self.messages.is_promise().then_some(Property::Cost);
        let ring = self.topology.is_ring().then_some(Property::Topology);
        self.promises.iter().chain(clocked).copied().chain(cost).chain(ring)
    }

    /// How many may be inside at once: 1, or the *k* of a k-mutex.
    pub fn most_inside(&self) -> u32 {
        let most = self.promises.iter().find_map(|promise| match promise {
            Property::AtMost(most) => Some(*most),
            _ => None,
        });
        most.unwrap_or(1)
    }

    /// Whether entries carry fences.
    pub fn fenced(&self) -> bool {
        self.promises.iter().chain(&self.clocked).any(|promise| *promise == Property::Fencing)
    }

    /// The bound on bypass that is promised, if one is.
    pub fn most_bypass(&self) -> Option<u32> {
        self.promises.iter().find_map(|promise| match promise {
            Property::Bypass(most) => *most,
            _ => None,
        })
    }

    /// The property as it is meant here: at most *k* inside with this card's *k*.
    pub fn meant(&self, property: Property) -> Property {
        match property {
            Property::AtMost(_) => Property::AtMost(self.most_inside()),
            property => property,
        }
    }
}

/// What a protocol offers to its local user, which decides what its traces are judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Service {
    /// Mutual exclusion.
    Mutex,
    /// Leader election.
    Election,
    /// Both of them.
    Office,
    /// Numbered items from process to process.
    Stream,
    /// One value for all.
    Consensus,
    /// Items from one to all.
    Broadcast,
    /// Pictures of a whole group.
    Snapshot,
    /// A place that nobody leaves before all have come.
    Barrier,
    /// Work, and the news that it is done.
    Termination,
    /// Who belongs to a group.
    Membership,
    /// Small names for large ones.
    Renaming,
    /// One list of entries, which grows at its end.
    Log,
    /// Anything else.
    #[cfg_attr(feature = "serde", serde(other))]
    Other,
}

impl Service {
    /// The word in tables and traces.
    pub const fn name(self) -> &'static str {
        match self {
            Service::Mutex => "mutex",
            Service::Election => "election",
            Service::Office => "office",
            Service::Stream => "stream",
            Service::Consensus => "consensus",
            Service::Broadcast => "broadcast",
            Service::Snapshot => "snapshot",
            Service::Barrier => "barrier",
            Service::Termination => "termination",
            Service::Membership => "membership",
            Service::Renaming => "renaming",
            Service::Log => "log",
            Service::Other => "other",
        }
    }

    /// The layer whose messages are its cost.
    pub const fn layer(self) -> Option<Layer> {
        match self {
            Service::Mutex | Service::Office => Some(Layer::Mutex),
            Service::Election => Some(Layer::Election),
            _ => None,
        }
    }
}

/// How an algorithm goes about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Strategy {
    /// One process decides.
    Centralised,
    /// Whoever has the token may.
    Token,
    /// Whoever has everybody's permission may.
    Permission,
    /// Whoever has a quorum's permission may.
    Quorum,
    /// The largest survives comparison.
    Comparison,
    /// Everybody tells everybody.
    Flooding,
    /// Made of other protocols.
    Composition,
}

/// Models of time, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Timing {
    /// No bound on delay, step or drift; every message arrives eventually.
    Asynchronous,
    /// Bounds hold from some moment on.
    Partial,
    /// Known bounds on delay, step and drift.
    Synchronous,
}

/// In which order a channel delivers, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Order {
    /// Any order.
    Reordered,
    /// Each link first in, first out.
    Fifo,
}

/// The faults that an algorithm survives with its promises kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Faults {
    /// Messages may be lost, any number of them.
    pub loss: bool,
    /// Number of messages that may be lost in a run where `loss` is false.
    pub max_lost: u32,
    /// Messages may be duplicated.
    pub duplication: bool,
    /// Processes may have failed before it begins, which the others know.
    pub absence: bool,
    /// Processes may crash.
    pub crashes: Crashes,
    /// Number of processes that may crash; `None` if there is no such bound.
    pub max_crashed: Option<u32>,
    /// Whoever is left has to be a majority, or else waits.
    pub majority: bool,
    /// The same in a sentence that a refusal can quote.
    pub says: &'static str,
}

impl Faults {
    /// None of them.
    pub const fn none(says: &'static str) -> Self {
        Faults {
            loss: false,
            max_lost: 0,
            duplication: false,
            absence: false,
            crashes: Crashes::None,
            max_crashed: None,
            majority: false,
            says,
        }
    }

    /// Only that messages are duplicated.
    pub const fn duplication(says: &'static str) -> Self {
        Faults { duplication: true, ..Faults::none(says) }
    }

    /// The same, and so many messages may be lost in a run.
    pub const fn and_losses(self, max_lost: u32) -> Self {
        Faults { max_lost, ..self }
    }

    /// The same, and so many processes may crash and stay down.
    pub const fn and_crashes(self, max_crashed: u32) -> Self {
        let crashes = if max_crashed > 0 { Crashes::Stop } else { Crashes::None };
        Faults { crashes, max_crashed: Some(max_crashed), ..self }
    }

    /// The same, while a majority is up.
    pub const fn of_majority(self) -> Self {
        Faults { majority: true, ..self }
    }

    /// The same, and processes may have failed before it begins.
    pub const fn and_absence(self) -> Self {
        Faults { absence: true, ..self }
    }
}

/// How processes may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Crashes {
    /// Nobody may crash.
    None,
    /// Processes may crash and stay down.
    Stop,
    /// Processes may crash and come back with what they saved.
    Recovery,
}

/// Who must be able to reach whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Topology {
    /// Everybody everybody.
    Complete,
    /// Everybody the coordinator.
    Star,
    /// Everybody the next on the ring.
    UnidirectionalRing,
    /// Everybody both neighbours on the ring.
    BidirectionalRing,
    /// Neighbours in a tree.
    Tree,
}

impl Topology {
    /// Whether it says by their numbers alone who are neighbours.
    pub const fn is_ring(self) -> bool {
        matches!(self, Topology::UnidirectionalRing | Topology::BidirectionalRing)
    }

    /// Whether the one may send to the other in a group of `size`, as far as numbers say.
    pub fn joins(self, size: u32, from: ProcessId, to: ProcessId) -> bool {
        let follows = |one: ProcessId, other: ProcessId| (one.0 + 1) % size == other.0;
        match self {
            Topology::UnidirectionalRing => follows(from, to),
            Topology::BidirectionalRing => follows(from, to) || follows(to, from),
            Topology::Complete | Topology::Star | Topology::Tree => true,
        }
    }
}

/// The failure detector that an algorithm needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Detection {
    /// None at all.
    None,
    /// One that is wrong only finitely often.
    EventuallyPerfect,
    /// One that is never wrong.
    Perfect,
}

/// What processes know of their group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Knowledge {
    /// How many they are: the algorithm is *non-uniform*; where they do not, it is *uniform*.
    pub size: bool,
    /// Who they are: a name or rank of their own; where they have none, they are *anonymous*.
    pub names: bool,
}

impl Knowledge {
    /// Processes have names, and know how many they are.
    pub const NON_UNIFORM: Knowledge = Knowledge { size: true, names: true };
    /// Processes have names, and do the same however many they are.
    pub const UNIFORM: Knowledge = Knowledge { size: false, names: true };
    /// Processes have no names, and know how many they are.
    pub const ANONYMOUS: Knowledge = Knowledge { size: true, names: false };

    /// The words that apply, as people say them.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        let size = if self.size { "non-uniform" } else { "uniform" };
        [Some(size), (!self.names).then_some("anonymous")].into_iter().flatten()
    }
}

/// A waiting time of an algorithm, which a user may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Timeout {
    /// The name on the command line.
    pub name: &'static str,
    /// What it limits.
    pub says: &'static str,
    /// Its value in this configuration, by the process's own clock.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub delay: Delay,
}

impl Timeout {
    /// A timeout of this name and value.
    pub const fn new(name: &'static str, says: &'static str, delay: Delay) -> Self {
        Timeout { name, says, delay }
    }
}

/// A switch of an algorithm: another rule in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Variant {
    /// The name on the command line.
    pub name: &'static str,
    /// What is different.
    pub says: &'static str,
    /// Whether the promises still hold; `false` for a mistake kept to be shown.
    pub sound: bool,
    /// Which verdict of the project's checklist it shows, such as 7-L2; empty for none.
    pub verdict: &'static str,
    /// The options with which `tenure check` shows it, or, behind the word `simulate`, those with
    /// which `tenure simulate` does; empty where neither shows anything.
    pub shown_by: &'static str,
}

impl Variant {
    /// The words behind `tenure` that show it in an algorithm; nothing where none do.
    pub fn command(&self, algorithm: &str) -> Option<String> {
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
