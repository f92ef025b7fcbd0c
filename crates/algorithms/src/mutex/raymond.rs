//! Raymond's mutual exclusion: the token moves along a tree, and every process knows the direction
//! of the token.
//!
//! K. Raymond, *A tree-based algorithm for distributed mutual exclusion*, ACM TOCS 7(1), 1989.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels between neighbours in any order, no crash |
//! | messages per entry | 0 to 2D in a tree of diameter D; about 4 when all want to enter |
//! | delay to enter, uncontended | 0 to 2D messages |
//! | delay from exit to the next entry | 1 to D messages |
//!
//! **Why it is right.** There is one token, and only its holder may be inside. Every other process
//! points to the neighbour in whose direction the token is. A token that crosses an edge reverses
//! the pointer of that edge, so all pointers lead to the token at any time. A process that wants
//! the token, for itself or for neighbours, sends one request in that direction and keeps a queue
//! of the waiting processes. Queues are served in order: between two turns of a waiting process
//! every neighbour is served at most once, so every request is eventually served.
//!
//! A process that passes the token on while its queue is not empty requests it back immediately.
//! Beyond the paper, the token counts the entries; the count is the fence.

use alloc::collections::VecDeque;
use alloc::sync::Arc;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{ExpectedCosts, HopRange, Prediction, PredictionKind, WorkloadKind};
use tenure_core::tree::{RootedTree, TreeShape};
use tenure_core::{
    Algorithm, AlgorithmClass, Card, Effects, Fence, Group, MessageCost, Never, ProcessId,
    ProcessKnowledge, Protocol, ToleratedFaults, Topology, labelled,
};

use crate::catalogue_error::CatalogueError;
use crate::parameters::{FromParameters, Parameters};

/// One process of Raymond's algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Raymond {
    me: ProcessId,
    privilege: Privilege,
    /// Processes to which this process must give the token, in the order of their requests
    /// (`REQUEST_Q` in the paper). Each of them is a neighbour or this process itself.
    queue: VecDeque<ProcessId>,
}

/// Location of the token as this process knows it (`HOLDER` in the paper). Each variant contains
/// the state that exists only while the token is at this location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Privilege {
    Away {
        /// The neighbour in the direction of the token.
        holder: ProcessId,
        /// True if this process has requested the token from `holder` (`ASKED` in the paper).
        asked: bool,
    },
    /// The token is at this process, which is not inside the critical section.
    Here {
        /// Number of entries into the critical section so far, by all processes.
        entries: u64,
    },
    /// The token is at this process, which is inside the critical section (`USING` in the paper).
    Inside {
        /// Number of entries into the critical section so far, by all processes. It includes the
        /// current entry.
        entries: u64,
    },
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Requests the token for the sender, or for a process from which the sender received a
    /// request.
    Request,
    /// Passes the token.
    Privilege {
        /// Number of entries into the critical section so far, by all processes.
        entries: u64,
    },
}

labelled!(Message, Mutex, Request => "request", Privilege => "privilege");

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config {
    /// Tree along whose edges the token moves. The root of the tree has the token at the start.
    pub tree: Arc<RootedTree>,
}

impl Config {
    /// Returns a configuration for a tree of the given shape over `size` processes.
    pub fn with_tree_shape(shape: TreeShape, size: u32) -> Self {
        Config { tree: Arc::new(RootedTree::from_shape(shape, size)) }
    }
}

impl FromParameters for Config {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        parameters.reject_variants()?;
        Ok(Config { tree: parameters.tree()? })
    }
}

impl Protocol for Raymond {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    /// Boots the process. The token starts at the first process, the root. If the root restarts, it
    /// creates no second token: it assumes that the token is in the direction of its first child. A
    /// process alone in its group always has the token.
    fn boot(group: Group, config: &Config, stable: Option<()>, _: &mut impl Effects<Self>) -> Self {
        let me = group.me();
        let tree = &config.tree;
        let below = || group.processes().find(|peer| tree.parent(*peer) == Some(me));
        let away = match tree.parent(me) {
            None if stable.is_none() => None,
            parent => parent.or_else(below),
        };
        let privilege = match away {
            Some(holder) => Privilege::Away { holder, asked: false },
            None => Privilege::Here { entries: 0 },
        };
        Raymond { me, privilege, queue: VecDeque::new() }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Enter => {
                let inside = matches!(self.privilege, Privilege::Inside { .. });
                let is_pending = inside || self.queue.contains(&self.me);
                assert!(!is_pending, "a process may request only when idle");
                self.queue.push_back(self.me);
            }
            Command::Exit => {
                let Privilege::Inside { entries } = self.privilege else {
                    panic!("only a process inside may exit")
                };
                self.privilege = Privilege::Here { entries };
                fx.emit(Event::Exited);
            }
        }
        self.assign_privilege(fx);
        self.make_request(fx);
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match (message, self.privilege) {
            (Message::Request, _) => self.queue.push_back(from),
            (Message::Privilege { entries }, Privilege::Away { .. }) => {
                self.privilege = Privilege::Here { entries };
            }
            // A duplicate is ignored.
            (Message::Privilege { .. }, Privilege::Here { .. } | Privilege::Inside { .. }) => {}
        }
        self.assign_privilege(fx);
        self.make_request(fx);
    }
}

impl Raymond {
    /// Takes the first process from the queue. If it is this process, enters the critical section.
    /// Otherwise sends the token to that process. Does nothing if the queue is empty, if the token
    /// is not here, or if this process is inside the critical section.
    fn assign_privilege(&mut self, fx: &mut impl Effects<Self>) {
        let Privilege::Here { entries } = self.privilege else { return };
        let Some(next) = self.queue.pop_front() else { return };
        if next == self.me {
            let entries = entries + 1;
            self.privilege = Privilege::Inside { entries };
            fx.emit(Event::Entered { fence: Fence(0, entries) });
        } else {
            self.privilege = Privilege::Away { holder: next, asked: false };
            fx.send(next, Message::Privilege { entries });
        }
    }

    /// Requests the token, if this process does not have it and the queue is not empty. Does
    /// nothing if this process has already requested the token.
    fn make_request(&mut self, fx: &mut impl Effects<Self>) {
        if let Privilege::Away { holder, asked: asked @ false } = &mut self.privilege
            && !self.queue.is_empty()
        {
            *asked = true;
            fx.send(*holder, Message::Request);
        }
    }
}

impl Algorithm for Raymond {
    fn card(config: &Config, _: u32) -> Card {
        Card {
            strategy: AlgorithmClass::Token,
            faults: ToleratedFaults::none(
                "a crash parts the tree, a lost token stops it, two tokens let two in",
            ),
            topology: Topology::Tree,
            knows: ProcessKnowledge::UNIFORM,
            messages: MessageCost::per_entry(
                "0 … 2D",
                0,
                Some(2 * u64::from(config.tree.diameter())),
            ),
            theory: Some(ExpectedCosts::lock(
                ["0…2D", "no bound", "no"],
                HopRange::tree(config.tree.diameter()),
            )),
            ..Card::mutex(
                "raymond",
                "the token moves along a tree, and every process knows in which direction it is",
                "Raymond, ACM TOCS 7(1), 1989",
            )
        }
    }

    fn predicted_messages(
        config: &Config,
        size: u32,
        workload: WorkloadKind,
    ) -> Option<Prediction> {
        // Twice the mean distance between two random processes.
        let (there_and_back, pairs) = (2 * config.tree.total_distance(), u64::from(size).pow(2));
        let mean = Prediction::fraction(PredictionKind::Mean, there_and_back, pairs);
        (workload == WorkloadKind::OneAtATime).then_some(mean)
    }
}
