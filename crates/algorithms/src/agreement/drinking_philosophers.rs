//! Drinking philosophers: every two neighbours in a graph share a bottle, and a process needs some
//! of its bottles for a session.
//!
//! K. M. Chandy, J. Misra, *The drinking philosophers problem*, ACM TOPLAS 6(4), 1984.
//!
//! | | |
//! |---|---|
//! | assumes | a connected graph of conflicts, reliable channels in any order, no crash |
//! | messages per session | those of the dining philosophers; 2 for each missing bottle; 2 more |
//! | | each time a neighbour that holds the fork takes the bottle back |
//! | delay to begin, uncontended | 0 if all needed bottles are at hand, else 2 messages |
//!
//! **Why it is right.** The bottle of an edge is at one place, and a process keeps the bottles that
//! it drinks from. So no two drink from one bottle. Neighbours may drink at the same time if they
//! do not both need the bottle that they share. The dining philosophers run as a layer below and
//! decide conflicts. A thirsty process becomes hungry in that layer. It stops eating once it is no
//! longer thirsty. A process that needs a bottle keeps it in two cases: while it drinks, and while
//! it holds the fork of the same edge. In all other cases, it yields the bottle on request. A
//! thirsty process eventually eats in the layer below, and then holds all forks. So it receives
//! each needed bottle when the session of the neighbour ends, and no neighbour takes it away.
//!
//! At the start, the process with the smaller id holds the bottle and the fork of an edge, and its
//! neighbour holds the request token. Unlike in the paper, a process remembers which bottles it has
//! requested. This allows a request to overtake a bottle that was sent earlier. A bottle may also
//! overtake the fork of its edge. Then the neighbours exchange the bottle until the fork arrives,
//! so the number of messages is bounded only on FIFO links.

use alloc::sync::Arc;

use tenure_core::service::drinking::{Command, Event};
use tenure_core::service::mutex;
use tenure_core::{
    Algorithm, AlgorithmClass, Card, Effects, Group, Input, Labelled, Layer, MessageCost,
    MessageLabel, Never, ProcessId, ProcessSet, Property, Protocol, Service, ToleratedFaults,
    UncomparedConfig,
};

use crate::graph_config::GraphConfig;
use crate::mutex::DiningPhilosophers;
use crate::mutex::dining_philosophers;
use crate::variants::{Variants, variant_ids};

/// A process that shares bottles with its neighbours.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DrinkingPhilosophers {
    neighbours: UncomparedConfig<ProcessSet>,
    variants: Variants<VariantId>,
    /// The dining philosopher in the layer below. The forks of this philosopher decide conflicts.
    dining: DiningPhilosophers,
    phase: Phase,
    /// `bot(b)`: neighbours whose shared bottle this process holds.
    bottles: ProcessSet,
    /// `reqb(b)`: neighbours whose shared request token this process holds. Two neighbours share
    /// one bottle and one request token. If this process holds both, the neighbour has requested
    /// the bottle.
    tokens: ProcessSet,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Tranquil,
    Thirsty {
        /// `need(b)`: neighbours with whom this process shares a bottle that the session needs.
        needed: ProcessSet,
        /// Neighbours from whom this process has requested a bottle that has not arrived yet.
        requested: ProcessSet,
    },
    Drinking {
        needed: ProcessSet,
    },
}

/// Messages between neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// A message of the dining philosophers.
    Dining(dining_philosophers::Message),
    /// Requests the bottle that the sender and the receiver share. The message passes the request
    /// token of this bottle to the receiver.
    Want,
    /// The bottle that the sender and the receiver share.
    Bottle,
}

impl Labelled for Message {
    fn label(&self) -> MessageLabel {
        match self {
            Message::Dining(message) => message.label(),
            Message::Want => MessageLabel { layer: Layer::Agreement, kind: "want" },
            Message::Bottle => MessageLabel { layer: Layer::Agreement, kind: "bottle" },
        }
    }
}

/// Configuration of one process. Neighbours on the graph share a bottle.
pub type Config = GraphConfig<VariantId>;

variant_ids! {
    KeepsNeeded = "keeps-needed", unsound,
        "a thirsty process keeps a needed bottle without the fork, so that forks decide nothing"
        => "", "-n 3 --entries 1,2,1 --property progress";
    YieldsNeeded = "yields-needed", unsound,
        "a thirsty process yields a needed bottle even with the fork, so that it goes to and fro"
        => "", "-n 3 --property progress";
    YieldsInside = "yields-inside", unsound,
        "a process yields a bottle while it drinks from it"
        => "", "-n 2 --property session-exclusion";
    DropsRequest = "drops-request", unsound,
        "a request that arrives during a session is forgotten instead of deferred"
        => "", "-n 2 --property progress";
}

impl Protocol for DrinkingPhilosophers {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, fx: &mut impl Effects<Self>) -> Self {
        let graph = Arc::clone(&config.graph);
        let neighbours: ProcessSet = graph.neighbours(group.me()).iter().copied().collect();
        let below = dining_philosophers::Config { graph, variants: Variants::none() };
        let (dining, _) = fx.run_child(
            Message::Dining,
            |timer| timer,
            |fx| DiningPhilosophers::boot(group, &below, None, fx),
        );
        DrinkingPhilosophers {
            variants: config.variants,
            dining,
            phase: Phase::Tranquil,
            bottles: neighbours.iter().filter(|peer| group.me() < *peer).collect(),
            tokens: neighbours.iter().filter(|peer| group.me() > *peer).collect(),
            neighbours: UncomparedConfig::new(neighbours),
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Thirst { bottles } => {
                assert!(self.phase == Phase::Tranquil, "only a tranquil process becomes thirsty");
                let needed = bottles.iter().filter(|peer| self.neighbours.contains(*peer));
                let needed = needed.collect();
                self.phase = Phase::Thirsty { needed, requested: ProcessSet::new() };
                if self.dining.is_thinking() {
                    self.dine(Input::Command(mutex::Command::Enter), fx);
                }
            }
            Command::Quench => {
                let is_drinking = matches!(self.phase, Phase::Drinking { .. });
                assert!(is_drinking, "only a drinking process ends its session");
                self.phase = Phase::Tranquil;
                fx.emit(Event::Tranquil);
            }
        }
        self.act(fx);
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Dining(message) => self.dine(Input::Message { from, message }, fx),
            Message::Want => {
                let drinks = matches!(self.phase, Phase::Drinking { .. });
                if !drinks || !self.variants.has(VariantId::DropsRequest) {
                    self.tokens.insert(from);
                }
            }
            Message::Bottle => {
                self.bottles.insert(from);
                if let Phase::Thirsty { requested, .. } = &mut self.phase {
                    requested.remove(from);
                }
            }
        }
        self.act(fx);
    }
}

impl DrinkingPhilosophers {
    /// Passes an input to the dining philosopher in the layer below. Discards the events of the
    /// dining philosopher, because `act` reads its state instead.
    fn dine(&mut self, input: Input<DiningPhilosophers>, fx: &mut impl Effects<Self>) {
        let ((), _) =
            fx.run_child(Message::Dining, |timer| timer, |fx| self.dining.step(input, fx));
    }

    /// Applies each rule of the paper if its condition holds. Sends the bottles that this process
    /// must yield, and requests missing bottles. If all needed bottles are here, begins the
    /// session. If this process eats as a dining philosopher but is not thirsty, it stops eating.
    fn act(&mut self, fx: &mut impl Effects<Self>) {
        let yielded: ProcessSet = self.tokens.iter().filter(|peer| self.yields_to(*peer)).collect();
        for peer in &yielded {
            self.bottles.remove(peer);
            fx.send(peer, Message::Bottle);
        }
        if let Phase::Thirsty { needed, requested } = &mut self.phase {
            let is_missing = |peer: &ProcessId| {
                !self.bottles.contains(*peer)
                    && !requested.contains(*peer)
                    && self.tokens.contains(*peer)
            };
            let missing: ProcessSet = needed.iter().filter(is_missing).collect();
            for peer in &missing {
                self.tokens.remove(peer);
                requested.insert(peer);
                fx.send(peer, Message::Want);
            }
            if needed.is_subset(&self.bottles) {
                let needed = needed.clone();
                fx.emit(Event::Drinking { bottles: needed.clone() });
                self.phase = Phase::Drinking { needed };
            }
        }
        if self.dining.is_eating() && !matches!(self.phase, Phase::Thirsty { .. }) {
            self.dine(Input::Command(mutex::Command::Exit), fx);
        }
    }

    /// Returns true if this process must send to `peer` the bottle that the two processes share.
    /// The caller has checked that `peer` has requested the bottle. This process keeps a bottle
    /// that it needs in two cases: the process is drinking, or it is thirsty and holds the fork
    /// that it shares with `peer`.
    fn yields_to(&self, peer: ProcessId) -> bool {
        let has = |switch| self.variants.has(switch);
        let is_kept = match &self.phase {
            Phase::Tranquil => false,
            Phase::Thirsty { needed, .. } => {
                let decides = self.dining.has_fork(peer) && !has(VariantId::YieldsNeeded);
                needed.contains(peer) && (decides || has(VariantId::KeepsNeeded))
            }
            Phase::Drinking { needed } => needed.contains(peer) && !has(VariantId::YieldsInside),
        };
        self.bottles.contains(peer) && !is_kept
    }
}

impl Algorithm for DrinkingPhilosophers {
    fn card(config: &Config, _: u32) -> Card {
        Card {
            strategy: AlgorithmClass::Token,
            faults: ToleratedFaults::none(
                "survives nothing: a lost or repeated bottle or fork, or a crash, stops the \
                 neighbours or lets them drink together",
            ),
            messages: MessageCost::per_agreement("0 … no bound", 0, None),
            variants: Variants::<VariantId>::declarations(),
            ..Card::agreement(
                Service::Drinking,
                "drinking-philosophers",
                "sessions need some of the bottles that neighbours share; forks decide conflicts",
                "Chandy and Misra, ACM TOPLAS 6(4), 1984",
            )
            .with_promises([Property::SessionExclusion])
        }
        .on_graph(Arc::clone(&config.graph))
    }
}
