//! The echo algorithm: a wave explores a graph along all its edges, and returns along a tree.
//!
//! E. Chang, *Echo algorithms: depth parallel operations on general graphs*, IEEE Transactions on
//! Software Engineering SE-8(4), 1982; A. Segall, *Distributed network protocols*, IEEE
//! Transactions on Information Theory IT-29(1), 1983 (propagation of information with feedback).
//!
//! | | |
//! |---|---|
//! | assumes | a connected graph, neighbours that know each other, reliable channels in any order |
//! | messages per wave | 2E: one in each direction of each edge |
//! | | 2E − (N − 1) explorers and N − 1 echoes |
//! | time | from the initiator to the farthest process, and back |
//!
//! **Why it is right.** When the wave reaches a process, the process sends an explorer to each
//! neighbour except its parent. The process from which the first explorer arrives is the parent.
//! When an explorer or an echo has arrived from every other neighbour, the process sends one echo
//! to its parent. So one message crosses each edge in each direction. A parent takes part before
//! its children, so the parents form a tree. A leaf of this tree receives explorers from all
//! neighbours, and then sends its echo. An inner process sends its echo after its children have
//! sent theirs. Hence every process sends an echo, and the initiator receives an answer from each
//! neighbour. An echo covers the whole subtree of its sender, so all processes have taken part
//! before the initiator reports the end of the wave.
//!
//! Beyond the papers, a message names the initiator of its wave, so that waves of several processes
//! do not mix. A process forgets a wave when it sends its echo. It needs no record of the wave any
//! more, because each neighbour has already sent its only message of the wave.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use tenure_core::service::wave::{Command, Event};
use tenure_core::theory::{Prediction, PredictionKind, WorkloadKind};
use tenure_core::{
    Algorithm, AlgorithmClass, Card, Effects, Group, MessageCost, Never, ProcessId,
    ProcessKnowledge, ProcessSet, Property, Protocol, Service, ToleratedFaults, UncomparedConfig,
    labelled,
};

use crate::graph_config::GraphConfig;
use crate::variants::{Variants, variant_ids};

/// One process in the graph.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Echo {
    me: ProcessId,
    neighbours: UncomparedConfig<ProcessSet>,
    variants: Variants<VariantId>,
    /// Waves in which this process takes part, by initiator.
    waves: BTreeMap<ProcessId, Participation>,
}

/// Part of this process in one wave.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Participation {
    /// Neighbour whose explorer arrived first; `None` at the initiator.
    parent: Option<ProcessId>,
    /// Neighbours, except the parent, from which no message has arrived.
    awaited: ProcessSet,
    /// Number of processes in the subtree of this process, as far as echoes have reported them. The
    /// number includes this process.
    size: u32,
}

/// Messages between processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Tells a neighbour that the wave has reached the sender.
    Explorer {
        /// Process that started the wave.
        initiator: ProcessId,
    },
    /// Tells the parent that all processes in the subtree of the sender have taken part.
    Echo {
        /// Process that started the wave.
        initiator: ProcessId,
        /// Number of processes in the subtree of the sender.
        size: u32,
    },
}

labelled!(Message, Agreement, Explorer => "explorer", Echo => "echo");

/// Configuration of one process.
pub type Config = GraphConfig<VariantId>;

variant_ids! {
    EarlyEcho = "early-echo", unsound,
        "a process echoes as soon as the wave reaches it, before its neighbours have answered"
        => "7-ECHO", "-n 4 --initiators 1";
    EchoesOnly = "echoes-only", unsound,
        "only an echo is an answer: an explorer that crosses an explorer does not count"
        => "7-ECHO", "-n 3 --initiators 1";
    LastParent = "last-parent", unsound,
        "the last sender of an explorer becomes the parent, instead of the first"
        => "7-ECHO", "-n 3 --initiators 1";
}

impl Protocol for Echo {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        let neighbours = config.graph.neighbours(group.me()).iter().copied().collect();
        Echo {
            me: group.me(),
            neighbours: UncomparedConfig::new(neighbours),
            variants: config.variants,
            waves: BTreeMap::new(),
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        let Command::Explore = command;
        self.take_part(self.me, None, fx);
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Explorer { initiator } => match self.waves.get_mut(&initiator) {
                None => self.take_part(initiator, Some(from), fx),
                Some(participation) => {
                    if self.variants.has(VariantId::LastParent) && participation.parent.is_some() {
                        participation.parent = Some(from);
                    }
                    if !self.variants.has(VariantId::EchoesOnly) {
                        self.on_answer(from, initiator, 0, fx);
                    }
                }
            },
            Message::Echo { initiator, size } => self.on_answer(from, initiator, size, fx),
        }
    }
}

impl Echo {
    /// Returns true while this process awaits answers of its neighbours in the wave of `initiator`.
    /// An answer is an echo or an explorer. Returns false before the wave reaches this process, and
    /// after this process has received all answers.
    pub fn is_awaiting_answers(&self, initiator: ProcessId) -> bool {
        self.waves.contains_key(&initiator)
    }

    fn take_part(
        &mut self,
        initiator: ProcessId,
        parent: Option<ProcessId>,
        fx: &mut impl Effects<Self>,
    ) {
        let explored = self.neighbours.iter().filter(|peer| Some(*peer) != parent);
        let awaited: ProcessSet = explored.collect();
        fx.broadcast(&awaited, Message::Explorer { initiator });
        fx.emit(Event::Reached { initiator, parent });
        self.waves.insert(initiator, Participation { parent, awaited, size: 1 });
        if let Some(parent) = parent.filter(|_| self.variants.has(VariantId::EarlyEcho)) {
            fx.send(parent, Message::Echo { initiator, size: 1 });
        }
        self.finish(initiator, fx);
    }

    /// Records that a neighbour has answered. If the neighbour is a child of this process, `size`
    /// is the number of processes in the child's subtree. Otherwise, `size` is 0.
    fn on_answer(
        &mut self,
        from: ProcessId,
        initiator: ProcessId,
        size: u32,
        fx: &mut impl Effects<Self>,
    ) {
        let Some(participation) = self.waves.get_mut(&initiator) else { return };
        if participation.awaited.remove(from) {
            participation.size = participation.size.saturating_add(size);
            self.finish(initiator, fx);
        }
    }

    /// Ends the participation of this process in the wave of `initiator` if all neighbours have
    /// answered. Then the process sends an echo to its parent. The initiator has no parent, and
    /// reports the end of the wave to its user.
    fn finish(&mut self, initiator: ProcessId, fx: &mut impl Effects<Self>) {
        let Some(participation) = self.waves.get(&initiator) else { return };
        let Participation { parent, ref awaited, size } = *participation;
        if !awaited.is_empty() {
            return;
        }
        self.waves.remove(&initiator);
        match parent {
            Some(_) if self.variants.has(VariantId::EarlyEcho) => {}
            Some(parent) => fx.send(parent, Message::Echo { initiator, size }),
            None => fx.emit(Event::Returned { size }),
        }
    }
}

impl Algorithm for Echo {
    fn card(config: &Config, _: u32) -> Card {
        let messages = 2 * config.graph.edge_count() as u64;
        Card {
            strategy: AlgorithmClass::Flooding,
            faults: ToleratedFaults::none(
                "survives nothing: the initiator waits for ever for a lost answer, and a repeated \
                 explorer starts a second wave",
            ),
            knows: ProcessKnowledge::UNIFORM,
            messages: MessageCost::per_agreement("2E", messages, Some(messages)),
            variants: Variants::<VariantId>::declarations(),
            ..Card::agreement(
                Service::Wave,
                "echo",
                "a wave explores all edges of a graph and returns along a tree",
                "Chang, IEEE TSE SE-8(4), 1982",
            )
            .with_promises([Property::OneTree, Property::AllReached])
        }
        .on_graph(Arc::clone(&config.graph))
    }

    fn predicted_messages(config: &Config, _: u32, _: WorkloadKind) -> Option<Prediction> {
        Some(Prediction::new(PredictionKind::Exact, 2 * config.graph.edge_count() as u64))
    }
}
