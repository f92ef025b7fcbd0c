//! Dining philosophers: neighbours in a graph share a fork, and a process enters with the forks of
//! all its edges.
//!
//! K. M. Chandy, J. Misra, *The drinking philosophers problem*, ACM TOPLAS 6(4), 1984 (the
//! hygienic solution of the dining philosophers problem).
//!
//! | | |
//! |---|---|
//! | assumes | a connected graph of conflicts, reliable channels in any order, no crash |
//! | messages per entry | 0 to 2δ: a request and a fork for each missing fork |
//! | | δ is the largest number of neighbours |
//! | delay to enter, uncontended | 0 to 2 messages; 0 if the process holds all its forks |
//! | delay from exit to the next entry | 1 message between neighbours |
//!
//! **Why it is right.** The fork of an edge is at one place, so neighbours are never inside
//! together. An entry makes all forks of the process dirty. A process outside yields a dirty fork
//! on request, and cleans it before sending. It keeps a clean fork until it has been inside. For
//! the proof, each edge has a direction, from the process that has precedence to its neighbour. A
//! process precedes its neighbour in three cases: the process holds their fork clean, the neighbour
//! holds the fork dirty, or the fork is on its way to the process. Only an entry changes
//! directions: afterwards all neighbours precede the process. This change creates no cycle, so the
//! directed graph stays acyclic. A waiting process without waiting predecessors gets all its forks.
//! So each process enters eventually.
//!
//! At the start all forks are dirty, and the process with the smaller number holds the fork. So the
//! process with the larger number precedes, and there is no cycle. The process with the larger
//! number also holds the request token of the edge. In the paper, a hungry process without the fork
//! may send the token at any time. Here it sends the token when it becomes hungry, and when it
//! yields a fork while hungry. In the second case, the token may overtake the fork. The receiver
//! then answers the request when the fork arrives.

use alloc::sync::Arc;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{ExpectedCosts, HopRange};
use tenure_core::{
    Algorithm, AlgorithmClass, Card, Effects, Fence, Group, MessageCost, Never, ProcessId,
    ProcessSet, Property, Protocol, ToleratedFaults, UncomparedConfig, labelled,
};

use crate::graph_config::GraphConfig;
use crate::variants::{Variants, variant_ids};

/// One process of the hygienic solution: a philosopher.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DiningPhilosophers {
    me: ProcessId,
    neighbours: UncomparedConfig<ProcessSet>,
    variants: Variants<VariantId>,
    phase: Phase,
    /// `fork(f)`: neighbours whose shared fork this process holds.
    forks: ProcessSet,
    /// `dirty(f)`: the members of `forks` whose shared fork is dirty. All other forks at this
    /// process are clean.
    dirty: ProcessSet,
    /// `reqf(f)`: neighbours whose shared request token this process holds. Two neighbours share
    /// one fork and one request token. If this process holds both, the neighbour has requested
    /// the fork.
    tokens: ProcessSet,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Thinking,
    Hungry,
    Eating,
}

/// Messages between neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// The request token: "I am hungry and lack our fork."
    Request,
    /// Passes the fork that the two processes share. The fork is clean.
    Fork,
}

labelled!(Message, Mutex, Request => "request", Fork => "fork");

/// Configuration of one process. Neighbours on the graph must not be inside the critical section at
/// the same time.
pub type Config = GraphConfig<VariantId>;

variant_ids! {
    CyclicStart = "cyclic-start", unsound,
        "the last process holds the fork that it shares with P1, so that precedence forms a cycle"
        => "", "-n 3 --property deadlock-freedom";
    KeepsDirty = "keeps-dirty", unsound,
        "a hungry process keeps its dirty forks too, so that no fork gives precedence"
        => "", "-n 3 --property deadlock-freedom";
    YieldsClean = "yields-clean", unsound,
        "a hungry process yields clean forks too, so that a fork goes to and fro"
        => "", "-n 3 --property starvation-freedom";
    StaysClean = "stays-clean", unsound,
        "forks stay clean during an entry, and a clean fork is kept"
        => "", "-n 2 --property starvation-freedom";
    YieldsInside = "yields-inside", unsound,
        "a process yields a dirty fork while it is inside"
        => "", "-n 2 --property local-mutual-exclusion";
    DropsRequest = "drops-request", unsound,
        "a request that arrives inside is forgotten instead of deferred"
        => "", "-n 2 --property starvation-freedom";
}

impl Protocol for DiningPhilosophers {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        let (me, graph) = (group.me(), &*config.graph);
        let neighbours: ProcessSet = graph.neighbours(me).iter().copied().collect();
        let last = ProcessId(group.size() - 1);
        let is_cyclic = config.variants.has(VariantId::CyclicStart);
        let holds = |peer: &ProcessId| match (me, *peer) {
            (ProcessId(0), peer) if is_cyclic && peer == last => group.size() == 2,
            (me, ProcessId(0)) if is_cyclic && me == last => group.size() > 2,
            (me, peer) => me < peer,
        };
        let forks: ProcessSet = neighbours.iter().filter(holds).collect();
        let tokens = neighbours.iter().filter(|peer| !forks.contains(*peer)).collect();
        DiningPhilosophers {
            me,
            neighbours: UncomparedConfig::new(neighbours),
            variants: config.variants,
            phase: Phase::Thinking,
            dirty: forks.clone(),
            forks,
            tokens,
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Enter => {
                assert!(self.phase == Phase::Thinking, "only a thinking process becomes hungry");
                self.phase = Phase::Hungry;
                let missing = self.neighbours.iter().filter(|peer| !self.forks.contains(*peer));
                let missing: ProcessSet = missing.collect();
                missing.iter().for_each(|peer| self.request(peer, fx));
                self.eat_if_possible(fx);
            }
            Command::Exit => {
                assert!(self.phase == Phase::Eating, "only a process inside may exit");
                self.phase = Phase::Thinking;
                for peer in &self.tokens.clone() {
                    self.answer(peer, fx);
                }
                fx.emit(Event::Exited);
            }
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Request => {
                let drops =
                    self.variants.has(VariantId::DropsRequest) && self.phase == Phase::Eating;
                if !drops {
                    self.tokens.insert(from);
                }
                self.answer(from, fx);
            }
            Message::Fork => {
                self.forks.insert(from);
                self.eat_if_possible(fx);
                self.answer(from, fx);
            }
        }
    }
}

impl DiningPhilosophers {
    /// Returns true if the process neither waits for the critical section nor is inside it.
    pub fn is_thinking(&self) -> bool {
        self.phase == Phase::Thinking
    }

    /// Returns true if the process is inside the critical section.
    pub fn is_eating(&self) -> bool {
        self.phase == Phase::Eating
    }

    /// Returns true if this process holds the fork that it shares with `peer`.
    pub fn has_fork(&self, peer: ProcessId) -> bool {
        self.forks.contains(peer)
    }

    /// Requests the fork that this process shares with `peer`. If the request token is at `peer`,
    /// this process has already requested the fork, and the function does nothing.
    fn request(&mut self, peer: ProcessId, fx: &mut impl Effects<Self>) {
        if self.tokens.remove(peer) {
            fx.send(peer, Message::Request);
        }
    }

    /// Sends the fork that this process shares with `peer`, if [`DiningPhilosophers::yields_to`]
    /// returns true.
    fn answer(&mut self, peer: ProcessId, fx: &mut impl Effects<Self>) {
        if self.yields_to(peer) {
            self.yield_fork(peer, fx);
        }
    }

    /// Returns true if this process must send the fork that it shares with `peer`. Without
    /// variants, it must send the fork if `peer` has requested the fork, the fork is dirty, and
    /// this process is not inside the critical section.
    fn yields_to(&self, peer: ProcessId) -> bool {
        let has = |switch| self.variants.has(switch);
        let is_requested = self.forks.contains(peer) && self.tokens.contains(peer);
        let is_kept = match self.phase {
            Phase::Thinking => !self.dirty.contains(peer),
            Phase::Hungry if has(VariantId::YieldsClean) => false,
            Phase::Hungry => !self.dirty.contains(peer) || has(VariantId::KeepsDirty),
            Phase::Eating => !has(VariantId::YieldsInside),
        };
        is_requested && !is_kept
    }

    /// Cleans the fork that this process shares with `peer`, and sends the fork to `peer`. If this
    /// process is hungry, it requests the fork back at once.
    fn yield_fork(&mut self, peer: ProcessId, fx: &mut impl Effects<Self>) {
        self.forks.remove(peer);
        self.dirty.remove(peer);
        fx.send(peer, Message::Fork);
        if self.phase == Phase::Hungry {
            self.request(peer, fx);
        }
    }

    /// Enters the critical section, if this process is hungry and holds all its forks. All forks
    /// then become dirty, except with the variant `stays-clean`.
    fn eat_if_possible(&mut self, fx: &mut impl Effects<Self>) {
        if self.phase == Phase::Hungry && self.forks.len() == self.neighbours.len() {
            self.phase = Phase::Eating;
            if !self.variants.has(VariantId::StaysClean) {
                self.dirty = self.forks.clone();
            }
            fx.emit(Event::Entered { fence: Fence::NONE });
        }
    }
}

impl Algorithm for DiningPhilosophers {
    fn card(config: &Config, size: u32) -> Card {
        let degrees = (0..size).map(|vertex| config.graph.degree(ProcessId(vertex)));
        let most = 2 * degrees.max().unwrap_or(0) as u64;
        Card {
            strategy: AlgorithmClass::Token,
            faults: ToleratedFaults::none(
                "survives nothing: a lost or repeated fork, or a crash, stops the neighbours or \
                 lets them enter together",
            ),
            messages: MessageCost::per_entry("0 … 2δ", 0, Some(most)),
            theory: Some(ExpectedCosts::lock(
                ["0…2", "no bound", "no"],
                // The bound holds only if the next process to enter is a neighbour of the process
                // that left.
                HopRange { formula: "1", least: 1, most: 1, is_unconditional: false },
            )),
            promises: [Property::LocalMutualExclusion, Property::StarvationFreedom].into(),
            variants: Variants::<VariantId>::declarations(),
            ..Card::mutex(
                "dining-philosophers",
                "neighbours share a fork: clean ones are kept, dirty ones yielded",
                "Chandy and Misra, ACM TOPLAS 6(4), 1984",
            )
        }
        .on_graph(Arc::clone(&config.graph))
    }
}
