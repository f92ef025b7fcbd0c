//! Termination detection by Dijkstra and Scholten: messages build a tree of working processes,
//! which shrinks as work ends.
//!
//! E. W. Dijkstra, C. S. Scholten, *Termination detection for diffusing computations*, Information
//! Processing Letters 11(1), 1980.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, channels in any order, nothing lost or repeated, no crash |
//! | messages per computation | one signal for each message of the computation, no more |
//! | delay from the last piece of work to the announcement | 0 to N messages |
//!
//! **Why it is right.** Every message of the computation is answered by one signal. A process that
//! receives work while idle is *engaged* by the sender, which becomes its parent. The process
//! answers this message last: once it has no work and all its own messages are answered. Until
//! then, it answers other messages immediately. So each engaged process corresponds to an
//! unanswered message of its parent. These messages are the edges of a tree rooted at the
//! initiator. The tree contains every working process and the sender of every message in flight.
//! When the root is idle and has no unanswered messages, the tree is only the root: no other
//! process works and no message is in flight. A process works only when asked to, so the
//! computation has terminated. Termination is announced eventually: every tree has a leaf, and an
//! idle leaf signals its parent and leaves the tree.
//!
//! The paper leaves the computation open. Here a piece of work takes a while. When it is done, the
//! process sends new pieces to its successors on the ring of ids. The configuration states the
//! number of these successors; the default is two. Any process may start a computation;
//! computations are identified by their initiator.

use alloc::collections::BTreeMap;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use tenure_core::service::termination::{Command, Event};
use tenure_core::{
    Algorithm, AlgorithmClass, Card, Delay, Effects, Group, Labelled, Layer, MessageCost,
    MessageLabel, ProcessId, Property, Protocol, Service, ToleratedFaults,
};

use crate::catalogue_error::CatalogueError;
use crate::parameters::{FromParameters, Parameters};
use crate::variants::{Variants, variant_ids};

/// One process. Each computation has a tree, whose nodes are the processes that take part in the
/// computation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DijkstraScholten {
    group: Group,
    /// Maximum duration of a piece of work, in ticks.
    max_work_duration: u64,
    /// Number of processes to which this process sends new work when it completes a piece of work.
    /// It sends none if the piece belongs to the last generation.
    share: u32,
    variants: Variants<VariantId>,
    /// Computations in which this process takes part, by initiator.
    engagements: BTreeMap<ProcessId, Engagement>,
}

/// Part of this process in one computation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Engagement {
    /// Process whose message engaged this process. This message is the last one that this process
    /// answers. `None` at the initiator.
    parent: Option<ProcessId>,
    /// Pieces of work at this process, oldest first. The first piece is in progress. Each piece is
    /// stored as the number of generations of new work that it may still create.
    work: VecDeque<u32>,
    /// The deficit: number of messages that this process has sent and that no signal has answered.
    unanswered: u32,
}

/// Timer of a process that works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// The current piece of work is done.
    Done {
        /// Initiator of the computation.
        of: ProcessId,
    },
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// A message of the computation: a piece of work.
    Work {
        /// Initiator of the computation.
        of: ProcessId,
        /// Number of generations of work that may follow this piece. The pieces that this piece
        /// creates are the first generation. The pieces that the first generation creates are the
        /// second, and so on.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        generations: u32,
    },
    /// Answers one message of the computation.
    Signal {
        /// Initiator of the computation.
        of: ProcessId,
    },
}

impl Labelled for Message {
    fn label(&self) -> MessageLabel {
        let (layer, kind) = match self {
            Message::Work { .. } => (Layer::Application, "work"),
            Message::Signal { .. } => (Layer::Agreement, "signal"),
        };
        MessageLabel { layer, kind }
    }
}

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config {
    /// Maximum duration of a piece of work, in ticks.
    pub max_work_duration: u64,
    /// For each process, by index: the number of other processes to which the process sends new
    /// work when it completes a piece of work. A process without an entry in this list sends new
    /// work to 2 processes. No process sends work to more than N − 1 processes.
    pub successor_counts: Vec<u32>,
    /// Variants that are switched on.
    pub variants: Variants<VariantId>,
}

impl Default for Config {
    fn default() -> Self {
        let max_work_duration = Delay::time_units(1).max;
        Config { max_work_duration, successor_counts: Vec::new(), variants: Variants::none() }
    }
}

impl FromParameters for Config {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        let variants = parameters.variants()?;
        Ok(Config { max_work_duration: parameters.delay, variants, ..Config::default() })
    }
}

variant_ids! {
    EarlySignal = "early-signal", unsound,
        "a process answers its parent when it has no work, despite unanswered messages"
        => "", "-n 2";
    OneForAll = "one-for-all", unsound,
        "unanswered messages are not counted: one signal answers them all"
        => "", "-n 3";
}

impl Protocol for DijkstraScholten {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        let &Config { max_work_duration, successor_counts: ref shares, variants } = config;
        let share = shares.get(group.me().index()).copied().unwrap_or(2).min(group.size() - 1);
        DijkstraScholten { group, max_work_duration, share, variants, engagements: BTreeMap::new() }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        let Command::Compute { generations } = command;
        self.add_work(self.group.me(), None, generations, fx);
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Work { of, generations } => {
                if self.engagements.contains_key(&of) {
                    fx.send(from, Message::Signal { of });
                }
                self.add_work(of, Some(from), generations, fx);
            }
            Message::Signal { of } => {
                let Some(engagement) = self.engagements.get_mut(&of) else { return };
                engagement.unanswered = match self.variants.has(VariantId::OneForAll) {
                    true => 0,
                    false => engagement.unanswered.saturating_sub(1),
                };
                self.leave_if_done(of, fx);
            }
        }
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        let Timer::Done { of } = timer;
        let Some(engagement) = self.engagements.get_mut(&of) else { return };
        let Some(generations) = engagement.work.pop_front() else { return };
        let more = match generations.checked_sub(1) {
            Some(left) => send_work(self.group, self.share, of, left, fx),
            None => 0,
        };
        engagement.unanswered += more;
        fx.emit(Event::Done { of, more });
        if !engagement.work.is_empty() {
            self.start_work(of, fx);
        }
        self.leave_if_done(of, fx);
    }
}

impl DijkstraScholten {
    /// Returns true if this process takes part in the computation that `of` started.
    pub fn is_engaged(&self, of: ProcessId) -> bool {
        self.engagements.contains_key(&of)
    }

    /// Queues a piece of work. If this process does not take part in the computation yet, it joins
    /// the tree of the computation as a child of `parent`. `parent` is `None` at the initiator.
    fn add_work(
        &mut self,
        of: ProcessId,
        parent: Option<ProcessId>,
        generations: u32,
        fx: &mut impl Effects<Self>,
    ) {
        let engaged = || Engagement { parent, work: VecDeque::new(), unanswered: 0 };
        let work = &mut self.engagements.entry(of).or_insert_with(engaged).work;
        work.push_back(generations);
        let is_idle = work.len() == 1;
        fx.emit(Event::Tasked { of });
        if is_idle {
            self.start_work(of, fx);
        }
    }

    fn start_work(&self, of: ProcessId, fx: &mut impl Effects<Self>) {
        fx.set_timer(Timer::Done { of }, Delay { min: 0, max: self.max_work_duration });
    }

    /// Ends the part of this process in the computation that `of` started, if the process has
    /// neither work nor unanswered messages in it. A process with a parent leaves the tree and
    /// signals its parent. The initiator has no parent, and reports the end of the computation.
    fn leave_if_done(&mut self, of: ProcessId, fx: &mut impl Effects<Self>) {
        let Some(engagement) = self.engagements.get(&of) else { return };
        let Engagement { parent, ref work, unanswered } = *engagement;
        let is_answered = match parent {
            Some(_) => unanswered == 0 || self.variants.has(VariantId::EarlySignal),
            None => unanswered == 0,
        };
        if !work.is_empty() || !is_answered {
            return;
        }
        self.engagements.remove(&of);
        match parent {
            Some(parent) => fx.send(parent, Message::Signal { of }),
            None => fx.emit(Event::Terminated),
        }
    }
}

impl Algorithm for DijkstraScholten {
    fn card(_: &Config, _: u32) -> Card {
        Card {
            strategy: AlgorithmClass::Flooding,
            faults: ToleratedFaults::none("survives nothing: a lost signal is awaited for ever"),
            messages: MessageCost::per_agreement("1 a message", 0, None),
            variants: Variants::<VariantId>::declarations(),
            ..Card::agreement(
                Service::Termination,
                "dijkstra-scholten",
                "work builds a tree, which shrinks as work ends",
                "Dijkstra and Scholten, IPL 11(1), 1980",
            )
            .with_promises([Property::NoFalseTermination])
        }
    }
}

/// Sends one piece of work to each of the next `more` processes on the ring of ids. Returns `more`.
fn send_work(
    group: Group,
    more: u32,
    of: ProcessId,
    generations: u32,
    fx: &mut impl Effects<DijkstraScholten>,
) -> u32 {
    let mut next = group;
    for _ in 0..more {
        next = Group::new(next.successor(), group.size());
        fx.send(next.me(), Message::Work { of, generations });
    }
    more
}
