//! Dijkstra and Scholten's signals: work makes a tree, and the tree shrinks when the work is done.
//!
//! E. W. Dijkstra, C. S. Scholten, *Termination detection for diffusing computations*, Information
//! Processing Letters 11(1), 1980.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, channels in any order, nothing lost or repeated, no crash |
//! | messages per computation | one signal for each message of the computation, no more |
//! | delay from the last piece of work to the announcement | 1 to N − 1 messages |
//!
//! **Why it is right.** Every message of the computation is answered by one signal. A process that
//! gets work while it takes part in nothing is *engaged* by the sender, whom it answers last: when
//! it has no work and all that it has sent is answered. What it gets while it is engaged it answers
//! at once. So whoever is engaged is known of at the one who engaged it, as a message that is not
//! answered; those arrows make a tree whose root began the computation, and whoever works, and
//! every message under way, hangs on it. When the root has no work and nothing of its own is
//! unanswered, the tree is the root alone: nobody else works, and nothing is under way. Nobody
//! works for a computation unless it is told to, so it has ended. And it is announced in the end:
//! a tree has leaves, and a leaf that has no work leaves it.
//!
//! The paper leaves open what is computed. Here a piece of work takes a while, and of how many more
//! it is the parent is chosen when it is done: none, or one for the next process on the ring of
//! ids, or one for each of the next two. Everybody may begin a computation; they are told apart by
//! who did.

use alloc::collections::BTreeMap;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use tenure_core::service::termination::{Command, Event};
use tenure_core::{
    Algorithm, Card, Cost, Delay, Effects, Faults, Group, Label, Labelled, Layer, ProcessId,
    Property, Protocol, Service, Strategy,
};

use crate::catalogue::{Configured, Parameters, Unknown};
use crate::variants::{Variants, switches};

/// One process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DijkstraScholten {
    group: Group,
    /// The longest that a piece of work takes, in ticks.
    work_takes: u64,
    /// For how many of those behind it a piece of work that is done here makes more.
    share: u32,
    variants: Variants<Switch>,
    /// By who began it: the computations that we take part in.
    engagements: BTreeMap<ProcessId, Engagement>,
}

/// The part that a process has in a computation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Engagement {
    /// Whom we answer last; nobody, if we began it.
    parent: Option<ProcessId>,
    /// The work that is here, by how many generations may follow; the first is being done.
    work: VecDeque<u32>,
    /// The deficit: how many messages of ours are not yet answered.
    unanswered: u32,
}

/// The timer of whoever works: the piece of work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Done {
    /// In the computation that this process began.
    pub of: ProcessId,
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "Do this": a message of the computation.
    Work {
        /// Who began it.
        of: ProcessId,
        /// How many generations may follow.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        generations: u32,
    },
    /// "A message of yours is answered."
    Signal {
        /// Who began the computation.
        of: ProcessId,
    },
}

impl Labelled for Message {
    fn label(&self) -> Label {
        let (layer, kind) = match self {
            Message::Work { .. } => (Layer::Application, "work"),
            Message::Signal { .. } => (Layer::Agreement, "signal"),
        };
        Label { layer, kind }
    }
}

/// What is fixed for life.
#[derive(Clone, Debug)]
pub struct Config {
    /// The longest that a piece of work takes, in ticks.
    pub work_takes: u64,
    /// By process: for how many of those behind it a piece of work that is done there makes more;
    /// for two where nothing is said.
    pub shares: Vec<u32>,
    /// Which variants are switched on.
    pub variants: Variants<Switch>,
}

impl Default for Config {
    fn default() -> Self {
        let work_takes = Delay::units(1).max;
        Config { work_takes, shares: Vec::new(), variants: Variants::none() }
    }
}

impl Configured for Config {
    fn configured(parameters: &Parameters) -> Result<Self, Unknown> {
        let variants = parameters.variants()?;
        Ok(Config { work_takes: parameters.delay, variants, ..Config::default() })
    }
}

switches! {
    EarlySignal = "early-signal", unsound,
        "a process answers its parent when it has no work, whatever it has sent to others"
        => "", "-n 2";
    OneForAll = "one-for-all", unsound,
        "it is not counted how many messages are unanswered: one signal answers them all"
        => "", "-n 3";
}

impl Protocol for DijkstraScholten {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Done;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        let &Config { work_takes, ref shares, variants } = config;
        let share = shares.get(group.me().index()).copied().unwrap_or(2).min(group.size() - 1);
        DijkstraScholten { group, work_takes, share, variants, engagements: BTreeMap::new() }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        let Command::Compute { generations } = command;
        self.take_up(self.group.me(), None, generations, fx);
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Work { of, generations } => {
                if self.engagements.contains_key(&of) {
                    fx.send(from, Message::Signal { of });
                }
                self.take_up(of, Some(from), generations, fx);
            }
            Message::Signal { of } => {
                let Some(engagement) = self.engagements.get_mut(&of) else { return };
                engagement.unanswered = match self.variants.has(Switch::OneForAll) {
                    true => 0,
                    false => engagement.unanswered.saturating_sub(1),
                };
                self.rest_if_done(of, fx);
            }
        }
    }

    fn on_timer(&mut self, timer: Done, fx: &mut impl Effects<Self>) {
        let Done { of } = timer;
        let Some(engagement) = self.engagements.get_mut(&of) else { return };
        let Some(generations) = engagement.work.pop_front() else { return };
        let more = match generations.checked_sub(1) {
            Some(left) => pass_on(self.group, self.share, of, left, fx),
            None => 0,
        };
        engagement.unanswered += more;
        fx.emit(Event::Done { of, more });
        if !engagement.work.is_empty() {
            self.begin_work(of, fx);
        }
        self.rest_if_done(of, fx);
    }
}

impl DijkstraScholten {
    /// Whether this process takes part in the computation that `of` began.
    pub fn is_engaged(&self, of: ProcessId) -> bool {
        self.engagements.contains_key(&of)
    }

    /// There is another piece of work; whoever gave the first engages us.
    fn take_up(
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
            self.begin_work(of, fx);
        }
    }

    fn begin_work(&self, of: ProcessId, fx: &mut impl Effects<Self>) {
        fx.set_timer(Done { of }, Delay { min: 0, max: self.work_takes });
    }

    /// Leaves the tree if nothing here is left to do, and nothing of ours is unanswered.
    fn rest_if_done(&mut self, of: ProcessId, fx: &mut impl Effects<Self>) {
        let Some(engagement) = self.engagements.get(&of) else { return };
        let Engagement { parent, ref work, unanswered } = *engagement;
        let is_answered = match parent {
            Some(_) => unanswered == 0 || self.variants.has(Switch::EarlySignal),
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
            strategy: Strategy::Flooding,
            faults: Faults::none("survives nothing: a lost signal is awaited for ever"),
            messages: Cost::per_agreement("1 a message", 0, None),
            variants: Variants::<Switch>::declared(),
            ..Card::agreement(
                Service::Termination,
                "dijkstra-scholten",
                "work makes a tree, and the tree shrinks when the work is done",
                "Dijkstra and Scholten, IPL 11(1), 1980",
            )
            .promising([Property::Quiescence])
        }
    }
}

/// Work that is done makes more, for so many of the next. Tells for how many.
fn pass_on(
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
