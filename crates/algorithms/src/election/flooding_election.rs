//! Election by flooding: in each round, every process sends to all neighbours the largest rank that
//! it has seen. The number of rounds is the diameter of the graph.
//!
//! N. A. Lynch, *Distributed Algorithms*, Morgan Kaufmann, 1996 (FloodMax, with numbered rounds in
//! an asynchronous network).
//!
//! | | |
//! |---|---|
//! | assumes | a connected graph, a known diameter D, any order, distinct ranks, no crash |
//! | messages | exactly 2E·D: one in each direction of each edge and round |
//! | time | D if all start at once, at most 2D if one starts |
//!
//! **Why it is right.** A process begins its next round when it has received the messages of this
//! round from all neighbours. By induction, after r rounds a process knows the largest rank within
//! distance r. So after D rounds every process knows the largest rank of all, and no announcement
//! is needed. A process must count the rounds, because it cannot tell from the messages whether a
//! larger rank is still on its way.
//!
//! A neighbour can be one round ahead of this process. The message of this neighbour is counted for
//! the next round. A process that has not started joins at the first message. Beyond the book,
//! messages carry the number of their election, so that duplicates are recognised.

use alloc::sync::Arc;

use tenure_core::service::election::{Command, Event};
use tenure_core::theory::{ExpectedCosts, Prediction, PredictionKind, WorkloadKind};
use tenure_core::{
    Algorithm, AlgorithmClass, Card, Effects, Graph, Group, MessageCost, Never, ProcessId,
    ProcessSet, Protocol, Rank, Term, ToleratedFaults, UncomparedConfig, labelled,
};

use super::ring::{self, Candidate};
use crate::catalogue_error::CatalogueError;
use crate::parameters::{FromParameters, Parameters};
use crate::variants::{Variants, variant_ids};

/// State of one process in the graph.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FloodingElection {
    neighbours: UncomparedConfig<ProcessSet>,
    /// Number of rounds of an election: the configured diameter *D*. One less with the variant
    /// `one-round-less`.
    rounds: u32,
    candidate: Candidate,
    variants: Variants<VariantId>,
    /// Number of the latest known election, 0 before the first.
    election: u32,
    phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Settled,
    /// The process has sent its message of this round, and waits for the messages of its
    /// neighbours.
    Flooding {
        /// Number of the round, from 1.
        round: u32,
        /// *max-uid*: the largest of this process itself and the candidates that have arrived in
        /// this round and in all earlier rounds.
        largest: Candidate,
        /// Neighbours whose message of this round has not arrived.
        awaited: ProcessSet,
        next: Early,
    },
}

/// Messages of the next round, from neighbours that are one round ahead.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Early {
    from: ProcessSet,
    /// Candidate with the largest rank in these messages. `None` if no message has arrived.
    largest: Option<Candidate>,
}

/// A message of one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Largest candidate that the sender knew at the beginning of this round.
    Largest {
        /// Number of the election.
        election: u32,
        /// Number of the round, from 1.
        round: u32,
        /// The largest candidate: a rank and its process.
        candidate: Candidate,
    },
}

labelled!(Message, Election, Largest => "largest");

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config {
    /// The connected graph of the group.
    pub graph: Arc<Graph>,
    /// Diameter *D* of the graph, or an upper bound.
    pub diameter: u32,
    /// Ranks of the processes, by index. All ranks are distinct.
    pub ranks: Arc<[Rank]>,
    /// Variants that are switched on.
    pub variants: Variants<VariantId>,
}

impl Config {
    /// Returns a configuration for this connected graph. The rank of each process is its id.
    ///
    /// # Panics
    ///
    /// If the graph is not connected.
    pub fn with_graph(graph: Graph) -> Self {
        let ranks = ring::id_ranks(graph.vertex_count());
        Config::on(Arc::new(graph), ranks, Variants::none())
    }

    fn on(graph: Arc<Graph>, ranks: Arc<[Rank]>, variants: Variants<VariantId>) -> Self {
        let diameter = graph.hop_diameter().expect("the graph is connected");
        Config { graph, diameter, ranks, variants }
    }

    fn messages(&self) -> u64 {
        2 * self.graph.edge_count() as u64 * u64::from(self.diameter)
    }
}

impl FromParameters for Config {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        let ranks = Arc::clone(&parameters.ranks);
        Ok(Config::on(parameters.graph()?, ranks, parameters.variants()?))
    }
}

variant_ids! {
    OneRoundLess = "one-round-less", unsound,
        "processes decide after D − 1 rounds"
        => "7-FLOOD", "-n 3";
    NoWaiting = "no-waiting", unsound,
        "the first message of a round ends it: a process does not wait for all neighbours"
        => "7-FLOOD", "-n 3";
    OnlyNews = "only-news", unsound,
        "a process that has seen no larger rank sends in the first round only: its neighbours wait"
        => "7-FLOOD", "-n 4 --initiators 1";
}

impl Protocol for FloodingElection {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        let neighbours = config.graph.neighbours(group.me()).iter().copied().collect();
        let less = u32::from(config.variants.has(VariantId::OneRoundLess));
        FloodingElection {
            neighbours: UncomparedConfig::new(neighbours),
            rounds: config.diameter.saturating_sub(less),
            candidate: Candidate {
                rank: ring::own_rank(&config.ranks, group),
                process: group.me(),
            },
            variants: config.variants,
            election: 0,
            phase: Phase::Settled,
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Elect if self.phase == Phase::Settled => self.start(self.election + 1, fx),
            // The process with the largest rank leads by definition, so it cannot resign while it
            // is up.
            Command::Elect | Command::Resign => {}
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        let Message::Largest { election, round: theirs, candidate } = message;
        if election > self.election {
            self.start(election, fx);
        }
        let Phase::Flooding { round, largest, awaited, next } = &mut self.phase else { return };
        if election != self.election {
            return;
        }
        if theirs == *round && awaited.remove(from) {
            *largest = candidate.max(*largest);
            if self.variants.has(VariantId::NoWaiting) {
                awaited.clear();
            }
            self.end_rounds(fx);
        } else if theirs == *round + 1 && next.from.insert(from) {
            next.largest = next.largest.max(Some(candidate));
        }
    }
}

impl FloodingElection {
    fn start(&mut self, election: u32, fx: &mut impl Effects<Self>) {
        self.election = election;
        if self.rounds == 0 {
            return self.settle(self.candidate.process, fx);
        }
        self.send(1, self.candidate, fx);
        self.wait_in_round(1, self.candidate, &Early::default());
    }

    fn send(&self, round: u32, candidate: Candidate, fx: &mut impl Effects<Self>) {
        let message = Message::Largest { election: self.election, round, candidate };
        fx.broadcast(&self.neighbours, message);
    }

    /// Starts to wait for the messages of a round. Does not wait for neighbours whose messages have
    /// arrived early.
    fn wait_in_round(&mut self, round: u32, largest: Candidate, early: &Early) {
        let awaited = self.neighbours.iter().filter(|peer| !early.from.contains(*peer)).collect();
        let largest = early.largest.map_or(largest, |theirs| theirs.max(largest));
        self.phase = Phase::Flooding { round, largest, awaited, next: Early::default() };
    }

    /// Ends all rounds whose messages have arrived. Accepts the leader after the last round.
    fn end_rounds(&mut self, fx: &mut impl Effects<Self>) {
        while let Phase::Flooding { round, largest, awaited, next } = &self.phase
            && awaited.is_empty()
        {
            let (round, largest, early) = (*round, *largest, next.clone());
            if round == self.rounds {
                return self.settle(largest.process, fx);
            }
            if !self.variants.has(VariantId::OnlyNews) || largest != self.candidate {
                self.send(round + 1, largest, fx);
            }
            self.wait_in_round(round + 1, largest, &early);
        }
    }

    fn settle(&mut self, leader: ProcessId, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Settled;
        fx.emit(Event::Elected { leader, term: Term { number: 0, leader } });
    }
}

impl Algorithm for FloodingElection {
    fn card(config: &Config, _: u32) -> Card {
        let messages = config.messages();
        Card {
            strategy: AlgorithmClass::Flooding,
            faults: ToleratedFaults::duplication_only(
                "a crash or a lost message stops the rounds of the neighbours, and then of all",
            ),
            messages: MessageCost::per_election("2E·D", messages, Some(messages)),
            theory: Some(ExpectedCosts::election(config.diameter)),
            variants: Variants::<VariantId>::declarations(),
            ..Card::election(
                "flooding-election",
                "every process floods the largest rank that it has seen, for D rounds",
                "Lynch, 1996 (FloodMax)",
            )
        }
        .on_graph(Arc::clone(&config.graph))
    }

    fn predicted_messages(config: &Config, _: u32, _: WorkloadKind) -> Option<Prediction> {
        Some(Prediction::new(PredictionKind::Exact, config.messages()))
    }

    fn with_ranks(config: &Config, ranks: Arc<[Rank]>) -> Config {
        Config { ranks, ..config.clone() }
    }
}
