//! Election on a tree by saturation: ranks move from the leaves inwards until they meet on one
//! edge. Both ends of this edge then know the largest rank.
//!
//! N. Santoro, *Design and Analysis of Distributed Algorithms*, Wiley, 2007 (full saturation).
//!
//! | | |
//! |---|---|
//! | assumes | a tree, neighbours that know each other, any order, distinct ranks, no crash |
//! | messages | N + k − 2 to wake up if k start, N to saturate, N − 2 to announce |
//! | | so 3N + k − 4: 3N − 3 if one starts, 4N − 4 if all do |
//!
//! **Why it is right.** A process waits until all neighbours except one have sent their largest
//! rank. Then it sends the largest rank that it knows to the remaining neighbour. A leaf does so
//! immediately. Each process sends one such message, so N messages cross N − 1 edges. An edge
//! carries at least one message, because each of its ends either sends over this edge or first
//! receives a message over it. So exactly one edge carries two messages, one from each end. Its two
//! ends are *saturated*: each knows the largest rank on its own side of the tree, and receives the
//! largest rank of the other side. Hence both ends know the largest rank of all, and each announces
//! the leader on its side.
//!
//! The wake-up starts leaves that do not know of the election. A process that starts by itself
//! wakes all its neighbours. Every other process wakes all its neighbours except the one that woke
//! it. So 2(N − 1) − (N − k) messages wake the processes if k start.
//!
//! Beyond the book, messages carry the number of their election, so that duplicates are recognised.

use alloc::sync::Arc;

use tenure_core::service::election::{Command, Event};
use tenure_core::theory::{Prediction, PredictionKind, WorkloadKind};
use tenure_core::tree::{RootedTree, TreeShape};
use tenure_core::{
    Algorithm, Card, Effects, Group, MessageCost, Never, ProcessId, ProcessKnowledge, ProcessSet,
    Protocol, Rank, Term, ToleratedFaults, Topology, UncomparedConfig, labelled,
};

use super::ring::{self, Candidate};
use crate::catalogue_error::CatalogueError;
use crate::parameters::{FromParameters, Parameters};
use crate::variants::{Variants, variant_ids};

/// State of one process in the tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TreeElection {
    neighbours: UncomparedConfig<ProcessSet>,
    candidate: Candidate,
    variants: Variants<VariantId>,
    /// Number of the latest known election, 0 before the first.
    election: u32,
    phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// No election is in progress. Before the first election, the book calls this state
    /// `AVAILABLE`.
    Settled,
    /// The process waits until all neighbours except one have sent their largest rank (`ACTIVE` in
    /// the book).
    Active {
        /// Neighbours that have not sent their largest rank.
        awaited: ProcessSet,
        /// Candidate with the largest rank received so far, possibly this process.
        largest: Candidate,
    },
    /// All neighbours except one have sent their largest rank. The process has sent the largest
    /// rank that it knows to the remaining neighbour, its parent.
    Processing {
        parent: ProcessId,
        /// Candidate with the largest rank on this side of the edge to the parent.
        largest: Candidate,
    },
}

/// Messages between processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Informs a neighbour that an election is in progress.
    WakeUp {
        /// Number of the election.
        election: u32,
    },
    /// Carries the largest rank on the sender's side of this edge. The sender has already received
    /// a `Saturation` over each of its other edges.
    Saturation {
        /// Number of the election that this message belongs to.
        election: u32,
        /// Largest rank on the side of the sender.
        largest: Candidate,
    },
    /// Announces the leader.
    Elected {
        /// Number of the election.
        election: u32,
        /// The elected leader.
        leader: ProcessId,
    },
}

labelled!(
    Message, Election,
    WakeUp => "wake-up", Saturation => "saturation", Elected => "elected",
);

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config {
    /// The tree of the group.
    pub tree: Arc<RootedTree>,
    /// Ranks of the processes, by index. All ranks are distinct.
    pub ranks: Arc<[Rank]>,
    /// Variants that are switched on.
    pub variants: Variants<VariantId>,
}

impl Config {
    /// Returns a configuration for this tree. The rank of each process is its id.
    pub fn with_tree(tree: RootedTree) -> Self {
        let ranks = ring::id_ranks(tree.size());
        Config { tree: Arc::new(tree), ranks, variants: Variants::none() }
    }

    /// Returns a configuration for a tree of the given shape over `size` processes. The rank of
    /// each process is its id.
    pub fn with_tree_shape(shape: TreeShape, size: u32) -> Self {
        Config::with_tree(RootedTree::from_shape(shape, size))
    }
}

impl FromParameters for Config {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        let (tree, ranks) = (parameters.tree()?, Arc::clone(&parameters.ranks));
        Ok(Config { tree, ranks, variants: parameters.variants()? })
    }
}

variant_ids! {
    FirstMessage = "first-message", unsound,
        "a process decides at the first saturation message, before its other neighbours have sent"
        => "7-SAT", "-n 3 --initiators 1";
    IgnoresCrossing = "ignores-crossing", unsound,
        "a process that has sent its saturation message ignores the one that crosses it"
        => "7-SAT", "-n 2";
    NoWakeUp = "no-wake-up", unsound,
        "processes are not woken up: the election ends only if all leaves start it"
        => "7-SAT", "-n 3 --initiators 1";
}

impl Protocol for TreeElection {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        let (me, tree) = (group.me(), &config.tree);
        let is_neighbour =
            |peer: &ProcessId| tree.parent(*peer) == Some(me) || tree.parent(me) == Some(*peer);
        TreeElection {
            neighbours: UncomparedConfig::new(group.processes().filter(is_neighbour).collect()),
            candidate: Candidate { rank: ring::own_rank(&config.ranks, group), process: me },
            variants: config.variants,
            election: 0,
            phase: Phase::Settled,
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Elect if self.phase == Phase::Settled => {
                self.wake_up(self.election + 1, None, fx);
            }
            // The process with the largest rank leads by definition, so it cannot resign while it
            // is up.
            Command::Elect | Command::Resign => {}
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::WakeUp { election } => {
                if election > self.election {
                    self.wake_up(election, Some(from), fx);
                }
            }
            Message::Saturation { election, largest } => {
                // A `Saturation` can arrive before the `WakeUp` of the same election. Then it wakes
                // this process.
                if election > self.election {
                    self.wake_up(election, Some(from), fx);
                }
                if election == self.election {
                    self.on_saturation(from, largest, fx);
                }
            }
            Message::Elected { election, leader } => {
                if election == self.election && self.phase != Phase::Settled {
                    self.settle(leader, from, fx);
                }
            }
        }
    }
}

impl TreeElection {
    /// Joins an election, and wakes all neighbours except `by`, the neighbour that woke this
    /// process.
    fn wake_up(&mut self, election: u32, by: Option<ProcessId>, fx: &mut impl Effects<Self>) {
        self.election = election;
        if !self.variants.has(VariantId::NoWakeUp) {
            for peer in self.neighbours.iter().filter(|peer| Some(*peer) != by) {
                fx.send(peer, Message::WakeUp { election });
            }
        }
        let awaited = ProcessSet::clone(&self.neighbours);
        self.phase = Phase::Active { awaited, largest: self.candidate };
        self.saturate(fx);
    }

    /// Handles a message of the neighbour `from`. The message contains the largest rank on the side
    /// of `from` in the tree. If this process has already sent `from` the largest rank of its own
    /// side, it now knows both ranks. The larger of the two ranks is the rank of the leader.
    fn on_saturation(&mut self, from: ProcessId, theirs: Candidate, fx: &mut impl Effects<Self>) {
        match &mut self.phase {
            Phase::Active { awaited, largest } if awaited.contains(from) => {
                awaited.remove(from);
                *largest = theirs.max(*largest);
                let leader = largest.process;
                if self.variants.has(VariantId::FirstMessage) {
                    return self.settle(leader, self.candidate.process, fx);
                }
                self.saturate(fx);
            }
            Phase::Processing { parent, largest } if *parent == from => {
                let leader = theirs.max(*largest).process;
                if !self.variants.has(VariantId::IgnoresCrossing) {
                    self.settle(leader, from, fx);
                }
            }
            // Drops a duplicate.
            _ => {}
        }
    }

    /// If all neighbours except one have sent their largest rank, sends the largest known rank to
    /// the remaining neighbour. A process without neighbours becomes the leader.
    fn saturate(&mut self, fx: &mut impl Effects<Self>) {
        let Phase::Active { awaited, largest } = &self.phase else { return };
        let (largest, mut left) = (*largest, awaited.iter());
        match (left.next(), left.next()) {
            (None, _) => self.settle(largest.process, largest.process, fx),
            (Some(parent), None) => {
                fx.send(parent, Message::Saturation { election: self.election, largest });
                self.phase = Phase::Processing { parent, largest };
            }
            _ => {}
        }
    }

    /// Accepts the leader, and announces it to all neighbours except `informed`. `informed` is the
    /// neighbour that already knows the leader, or this process if there is no such neighbour.
    fn settle(&mut self, leader: ProcessId, informed: ProcessId, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Settled;
        fx.emit(Event::Elected { leader, term: Term { number: 0, leader } });
        let election = self.election;
        for peer in self.neighbours.iter().filter(|peer| *peer != informed) {
            fx.send(peer, Message::Elected { election, leader });
        }
    }
}

impl Algorithm for TreeElection {
    fn card(_: &Config, size: u32) -> Card {
        Card {
            faults: ToleratedFaults::duplication_only(
                "a crash parts the tree, and a lost message ends the election undecided",
            ),
            knows: ProcessKnowledge::UNIFORM,
            topology: Topology::Tree,
            messages: MessageCost::per_election(
                "3N − 3 … 4N − 4",
                predicted_message_count(size, 1),
                Some(predicted_message_count(size, size)),
            ),
            variants: Variants::<VariantId>::declarations(),
            ..Card::election(
                "tree-election",
                "ranks move from the leaves of a tree inwards, until they meet on one edge",
                "Santoro, 2007 (full saturation)",
            )
        }
    }

    fn predicted_messages(_: &Config, size: u32, workload: WorkloadKind) -> Option<Prediction> {
        let starting = match workload {
            WorkloadKind::AllStart | WorkloadKind::AllStartRandomRanks => size,
            WorkloadKind::OneStarts(_) => 1,
            _ => {
                return Some(Prediction::new(
                    PredictionKind::Most,
                    predicted_message_count(size, size),
                ));
            }
        };
        Some(Prediction::new(PredictionKind::Exact, predicted_message_count(size, starting)))
    }

    fn with_ranks(config: &Config, ranks: Arc<[Rank]>) -> Config {
        Config { ranks, ..config.clone() }
    }
}

/// Returns the number of messages of an election in a tree of `size` processes. `initiator_count`
/// of these processes start before a message wakes them up.
pub fn predicted_message_count(size: u32, initiator_count: u32) -> u64 {
    if size == 1 { 0 } else { 3 * u64::from(size) + u64::from(initiator_count) - 4 }
}
