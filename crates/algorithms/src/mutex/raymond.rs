//! Raymond's mutual exclusion: the token moves along a tree, and everybody knows which way it is.
//!
//! K. Raymond, *A tree-based algorithm for distributed mutual exclusion*, ACM TOCS 7(1), 1989.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels between neighbours in any order, no crash |
//! | messages per entry | 0 to 2D in a tree of diameter D; about 4 when everybody wants to enter |
//! | delay to enter, uncontended | 0 to 2D messages |
//! | delay from exit to the next entry | 1 to D messages |
//!
//! **Why it is right.** There is one token, and only who has it is inside. Whoever does not have
//! it points to the neighbour beyond which it is; a token that moves turns the pointer of the
//! edge that it crosses, so that all of them lead to it at any time. Who wants it for itself or
//! for neighbours asks in that direction, once, and keeps a queue of those for whom. The queues
//! are worked off in order: between two services of one that waits, every neighbour is served
//! once at most, so every request is served in the end.
//!
//! Whoever hands the token on and still has a queue asks for it back at once. The token counts
//! the entries: that is the fence, beyond the paper's text.

use alloc::collections::VecDeque;
use alloc::sync::Arc;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{Expected, Hops, Precision, Scene, Theory};
use tenure_core::tree::{Shape, Tree};
use tenure_core::{
    Algorithm, Card, Cost, Effects, Faults, Fence, Group, Knowledge, Never, ProcessId, Protocol,
    Strategy, Topology, labelled,
};

use crate::catalogue::{Configured, Parameters, Unknown};

/// One process of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Raymond {
    me: ProcessId,
    privilege: Privilege,
    /// `REQUEST_Q`: the neighbours who want the token, and we ourselves, in order of arrival.
    queue: VecDeque<ProcessId>,
}

/// Where the token is: `HOLDER`, and what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Privilege {
    /// Beyond a neighbour.
    Away {
        /// The neighbour.
        holder: ProcessId,
        /// `ASKED`: whether we have asked for it.
        asked: bool,
    },
    /// Here, and nobody inside.
    Here {
        /// How many entries there have been.
        entries: u64,
    },
    /// `USING`: here, and we are inside.
    Inside {
        /// How many entries there have been, this one included.
        entries: u64,
    },
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "The token is on your side, and it is wanted on mine."
    Request,
    /// "Here it comes."
    Privilege {
        /// How many entries there have been.
        entries: u64,
    },
}

labelled!(Message, Mutex, Request => "request", Privilege => "privilege");

/// What is fixed for life.
#[derive(Clone, Debug)]
pub struct Config {
    /// Who is next to whom.
    pub tree: Arc<Tree>,
}

impl Config {
    /// The tree of a shape over `size` processes.
    pub fn of(shape: Shape, size: u32) -> Self {
        Config { tree: Arc::new(Tree::of(shape, size)) }
    }
}

impl Configured for Config {
    fn configured(parameters: &Parameters) -> Result<Self, Unknown> {
        parameters.no_variants()?;
        Ok(Config::of(parameters.tree, parameters.size))
    }
}

impl Protocol for Raymond {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    /// The token starts at the first process, the root. The root, when it recovers, makes no
    /// second one: it believes it to be with the first neighbour that has nobody above but it.
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
                let asks_twice = inside || self.queue.contains(&self.me);
                assert!(!asks_twice, "a process asks only when it neither waits nor is in");
                self.queue.push_back(self.me);
            }
            Command::Exit => {
                let Privilege::Inside { entries } = self.privilege else {
                    panic!("only a process that is inside can leave")
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
            // A duplicate.
            (Message::Privilege { .. }, Privilege::Here { .. } | Privilege::Inside { .. }) => {}
        }
        self.assign_privilege(fx);
        self.make_request(fx);
    }
}

impl Raymond {
    /// Gives the token, if it is here and free, to the first in the queue.
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

    /// Asks for the token, if it is away and wanted, once.
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
            strategy: Strategy::Token,
            faults: Faults::none(
                "a crash parts the tree, a lost token stops it, two tokens let two in",
            ),
            topology: Topology::Tree,
            knows: Knowledge::UNIFORM,
            messages: Cost::per_entry("0 … 2D", 0, Some(2 * u64::from(config.tree.diameter()))),
            theory: Some(Theory::lock(
                ["0…2D", "no bound", "no"],
                Hops::tree(config.tree.diameter()),
            )),
            ..Card::mutex(
                "raymond",
                "the token moves along a tree, and everybody knows which way it is",
                "Raymond, ACM TOCS 7(1), 1989",
            )
        }
    }

    fn expected(config: &Config, size: u32, scene: Scene) -> Option<Expected> {
        // Twice the mean distance between two processes that are drawn.
        let (there_and_back, pairs) = (2 * config.tree.total_distance(), u64::from(size).pow(2));
        let mean = Expected::shared(Precision::Mean, there_and_back, pairs);
        (scene == Scene::OneAtATime).then_some(mean)
    }
}
