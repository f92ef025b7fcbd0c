//! Echo with extinction: every initiator starts a wave, which explores the graph and returns. The
//! largest wave extinguishes the others.
//!
//! The echo algorithm is by E. Chang, *Echo algorithms: depth parallel operations on general
//! graphs*, IEEE Transactions on Software Engineering SE-8(4), 1982. The election by extinction is
//! from G. Tel, *Introduction to Distributed Algorithms*, Cambridge University Press, 2nd edition,
//! 2000. The announcement here travels along the tree of the winner's wave.
//!
//! | | |
//! |---|---|
//! | assumes | a connected graph, known neighbours, any order, distinct ranks, no crash |
//! | messages | at most 2kE + N − k if k start, of which N − 1 announce |
//! | | exactly 2E + N − 1 if one starts |
//! | time | at most 2D + 1 to decide after the winner has started, and D to announce |
//!
//! **Why it is right.** A wave is tagged with the rank of its initiator. A process takes part only
//! in the largest wave that it has received, and does not answer smaller waves. The largest wave is
//! never stopped, so it returns to its initiator, and the initiator leads. A wave returns only if
//! all processes take part in it. A smaller wave never returns, because the initiator of the
//! largest wave does not take part in it. A process that a wave has reached does not start a wave
//! in this election. So the leader has the largest rank among the processes that have started, but
//! a process that has not started may have a larger rank. A complete wave takes 2E messages. Each
//! of the k − 1 smaller waves takes fewer, because the winner sends no message for it.
//!
//! Beyond the book, a tag begins with the number of the election, which is the term of the leader.
//! A later election extinguishes an earlier one, and duplicates of messages are recognised. A
//! process deposes its leader when it takes part in a later election. The next leader leads when
//! its wave has returned. By then the old leader has taken part in that wave and is deposed, so
//! there are never two leaders at a time.

use alloc::sync::Arc;

use tenure_core::service::election::{Command, Event};
use tenure_core::theory::{Prediction, PredictionKind, WorkloadKind};
use tenure_core::{
    Algorithm, AlgorithmClass, Card, Effects, Graph, Group, MessageCost, Never, ProcessId,
    ProcessKnowledge, ProcessSet, Property, Protocol, Rank, Term, ToleratedFaults,
    UncomparedConfig, labelled,
};

use super::ring::{self, Candidate};
use crate::catalogue_error::CatalogueError;
use crate::parameters::{FromParameters, Parameters};
use crate::variants::{Variants, variant_ids};

/// State of one process in the graph.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EchoElection {
    neighbours: UncomparedConfig<ProcessSet>,
    candidate: Candidate,
    variants: Variants<VariantId>,
    phase: Phase,
}

/// Tag of a wave. A wave is one exploration of the graph by the messages of one initiator. Waves
/// are ordered by election, and within one election by the rank of the initiator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Wave {
    /// Number of the election to which the wave belongs. The first election has number 1.
    pub election: u32,
    /// Initiator of the wave.
    pub initiator: Candidate,
}

impl Wave {
    /// Returns the term of the leader that this wave elects. The initiator of the wave becomes the
    /// leader if the wave returns to it.
    fn term(self) -> Term {
        Term { number: u64::from(self.election), leader: self.initiator.process }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// No wave has reached this process.
    Asleep,
    /// The process takes part in the largest wave that it has received.
    Exploring {
        /// The currently active wave (*caw* in the paper).
        wave: Wave,
        /// Neighbour from which this wave arrived first (*father* in the paper). `None` at the
        /// initiator of the wave.
        parent: Option<ProcessId>,
        /// Neighbours, except the parent, that have sent neither an explorer nor an echo of this
        /// wave.
        awaited: ProcessSet,
        children: ProcessSet,
    },
    Settled {
        /// The wave that the leader started. It has reached all processes and returned to the
        /// leader.
        wave: Wave,
    },
}

/// Messages between processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Explores the graph for a wave. The sender takes part in this wave, because it is the largest
    /// wave that has reached the sender.
    Explorer {
        /// Tag of the wave.
        wave: Wave,
    },
    /// Tells the parent that all processes in the sender's subtree have taken part in the wave.
    Echo {
        /// Tag of the wave.
        wave: Wave,
    },
    /// Announces the initiator of `wave` as the leader, because this wave has returned to its
    /// initiator.
    Elected {
        /// Tag of the wave.
        wave: Wave,
    },
}

labelled!(Message, Election, Explorer => "explorer", Echo => "echo", Elected => "elected");

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config {
    /// The connected graph of the group.
    pub graph: Arc<Graph>,
    /// Ranks of the processes, by index. All are distinct.
    pub ranks: Arc<[Rank]>,
    /// Variants that are switched on.
    pub variants: Variants<VariantId>,
}

impl Config {
    /// Returns a configuration for this connected graph. The rank of each process is its id.
    pub fn with_graph(graph: Graph) -> Self {
        let ranks = ring::id_ranks(graph.vertex_count());
        Config { graph: Arc::new(graph), ranks, variants: Variants::none() }
    }
}

impl FromParameters for Config {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        let (graph, ranks) = (parameters.graph()?, Arc::clone(&parameters.ranks));
        Ok(Config { graph, ranks, variants: parameters.variants()? })
    }
}

variant_ids! {
    AnswersSmaller = "answers-smaller", unsound,
        "a process answers smaller waves instead of extinguishing them"
        => "7-EXT", "-n 2";
    KeepsFirst = "keeps-first", unsound,
        "a process stays with the first wave that reaches it, and larger ones wait"
        => "7-EXT", "-n 2";
    EarlyEcho = "early-echo", unsound,
        "a process echoes as soon as a wave reaches it, before its neighbours have answered"
        => "7-EXT", "-n 4 --initiators 1,3";
}

impl Protocol for EchoElection {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        let neighbours = config.graph.neighbours(group.me()).iter().copied().collect();
        EchoElection {
            neighbours: UncomparedConfig::new(neighbours),
            candidate: Candidate {
                rank: ring::own_rank(&config.ranks, group),
                process: group.me(),
            },
            variants: config.variants,
            phase: Phase::Asleep,
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        let election = match (command, &self.phase) {
            (Command::Elect, Phase::Asleep) => 1,
            (Command::Elect, Phase::Settled { wave }) => wave.election + 1,
            // The initiator with the largest rank leads by definition, so it cannot resign while it
            // is up.
            (Command::Elect, Phase::Exploring { .. }) | (Command::Resign, _) => return,
        };
        self.take_part(Wave { election, initiator: self.candidate }, None, fx);
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Explorer { wave } if self.is_larger(wave) => {
                self.take_part(wave, Some(from), fx);
            }
            Message::Explorer { wave } => {
                if self.variants.has(VariantId::AnswersSmaller) && self.wave() != Some(wave) {
                    fx.send(from, Message::Echo { wave });
                }
                self.on_answer(from, wave, false, fx);
            }
            Message::Echo { wave } => self.on_answer(from, wave, true, fx),
            Message::Elected { wave } => self.settle(wave, fx),
        }
    }
}

impl EchoElection {
    fn wave(&self) -> Option<Wave> {
        match self.phase {
            Phase::Asleep => None,
            Phase::Exploring { wave, .. } | Phase::Settled { wave } => Some(wave),
        }
    }

    /// Returns true if this process must take part in `wave`, because `wave` is larger than all
    /// waves that have reached this process before.
    fn is_larger(&self, wave: Wave) -> bool {
        match self.wave() {
            None => true,
            Some(known) if self.variants.has(VariantId::KeepsFirst) => {
                wave.election > known.election
            }
            Some(known) => wave > known,
        }
    }

    fn take_part(&mut self, wave: Wave, parent: Option<ProcessId>, fx: &mut impl Effects<Self>) {
        let explored = self.neighbours.iter().filter(|peer| Some(*peer) != parent);
        let awaited: ProcessSet = explored.collect();
        match self.phase {
            Phase::Settled { wave: old } if old.election < wave.election => {
                fx.emit(Event::Deposed { term: old.term() });
            }
            _ => {}
        }
        fx.broadcast(&awaited, Message::Explorer { wave });
        self.phase = Phase::Exploring { wave, parent, awaited, children: ProcessSet::new() };
        if let Some(parent) = parent.filter(|_| self.variants.has(VariantId::EarlyEcho)) {
            fx.send(parent, Message::Echo { wave });
        }
        self.finish(fx);
    }

    /// Records that a neighbour has answered the wave in which this process takes part. If the
    /// neighbour has sent an echo, it becomes a child of this process. Messages of other waves are
    /// ignored.
    fn on_answer(
        &mut self,
        from: ProcessId,
        arrived: Wave,
        is_child: bool,
        fx: &mut impl Effects<Self>,
    ) {
        let Phase::Exploring { wave, awaited, children, .. } = &mut self.phase else { return };
        if *wave != arrived || !awaited.remove(from) {
            return;
        }
        if is_child {
            children.insert(from);
        }
        self.finish(fx);
    }

    /// If all neighbours have answered the wave of this process, sends an echo to the parent. The
    /// initiator of the wave has no parent, and becomes the leader.
    fn finish(&mut self, fx: &mut impl Effects<Self>) {
        match self.phase {
            Phase::Exploring { wave, parent, ref awaited, .. } if awaited.is_empty() => {
                match parent {
                    Some(_) if self.variants.has(VariantId::EarlyEcho) => {}
                    Some(parent) => fx.send(parent, Message::Echo { wave }),
                    None => self.settle(wave, fx),
                }
            }
            _ => {}
        }
    }

    /// Accepts the initiator of `elected` as the leader and announces it to the children. Does
    /// nothing unless this process takes part in the wave `elected`.
    fn settle(&mut self, elected: Wave, fx: &mut impl Effects<Self>) {
        match &self.phase {
            Phase::Exploring { wave, children, .. } if *wave == elected => {
                fx.broadcast(children, Message::Elected { wave: elected });
                self.phase = Phase::Settled { wave: elected };
                let term = elected.term();
                fx.emit(Event::Elected { leader: term.leader, term });
            }
            _ => {}
        }
    }
}

impl Algorithm for EchoElection {
    fn card(config: &Config, size: u32) -> Card {
        let (wave, announcement) = costs(config, size);
        Card {
            strategy: AlgorithmClass::Comparison,
            faults: ToleratedFaults::duplication_only(
                "a crash or a lost message stops the largest wave, and the election with it",
            ),
            knows: ProcessKnowledge::UNIFORM,
            // The bound is 2NE, because each of at most N waves takes at most 2E messages. Each of
            // the N − 1 smaller waves saves at least one message, because the winner sends none for
            // it. These savings cover the N − 1 messages of the announcement.
            messages: MessageCost::per_election(
                "2E + N − 1 … 2NE",
                wave + announcement,
                Some(u64::from(size) * wave),
            ),
            promises: alloc::vec![
                Property::Agreement,
                Property::Progress,
                Property::OneLeaderPerTerm,
                Property::OneLeaderAtATime,
            ],
            variants: Variants::<VariantId>::declarations(),
            ..Card::election(
                "echo-election",
                "waves explore a graph, and the largest extinguishes the others",
                "Chang, IEEE TSE SE-8(4), 1982; Tel, 2000",
            )
        }
        .on_graph(Arc::clone(&config.graph))
    }

    fn predicted_messages(
        config: &Config,
        size: u32,
        workload: WorkloadKind,
    ) -> Option<Prediction> {
        let (wave, announcement) = costs(config, size);
        Some(match workload {
            WorkloadKind::OneStarts(_) => {
                Prediction::new(PredictionKind::Exact, wave + announcement)
            }
            _ => Prediction::new(PredictionKind::Most, u64::from(size) * wave),
        })
    }

    fn with_ranks(config: &Config, ranks: Arc<[Rank]>) -> Config {
        Config { ranks, ..config.clone() }
    }
}

/// Returns the number of messages of one complete wave, and the number of messages that announce
/// the leader. A complete wave reaches all processes and returns to its initiator.
fn costs(config: &Config, size: u32) -> (u64, u64) {
    (2 * config.graph.edge_count() as u64, u64::from(size) - 1)
}
