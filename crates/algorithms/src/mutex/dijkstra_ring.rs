//! Dijkstra's ring of K states: wherever it starts, in the end one at a time is privileged.
//!
//! E. W. Dijkstra, *Self-stabilizing systems in spite of distributed control*, CACM 17(11), 1974,
//! with messages in place of reading a neighbour's state: everybody sends its state to its
//! successor, again and again.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, channels first in, first out; any states at the start |
//! | messages per entry | 1 when everybody wants to enter, without bound when nobody does |
//! | delay to enter, uncontended | 0 to N messages, once converged |
//! | delay from exit to the next entry | 1 to N messages |
//!
//! **Why it is right.** A process has a state `x` below K and what it last heard of its
//! predecessor's. The first process is privileged while the two are equal, and moves by going to
//! the next state; every other while they differ, and moves by taking its predecessor's. Who is
//! privileged may enter, and moves when it leaves. Only the first process makes new states; all
//! others copy. With K of 2N or more it comes, step by step, to a state that is nowhere else on
//! the ring, and then waits until this very state has come round; by then everybody has it. From
//! there on the ring has one place where states change, and who is there is privileged. With
//! messages under way at the start, K has to be larger by their number.
//!
//! **What it does not promise.** Mutual exclusion holds once the ring has converged, not before:
//! started in other states than those of [`Config::default`], or after a process came back with a
//! state of its own, several may be inside at first, and nobody can tell. States come round, so
//! an entry has no fence. A lost or repeated message does no harm: the next one says the same.

use alloc::sync::Arc;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{Hops, Theory};
use tenure_core::{
    Algorithm, Card, Cost, Delay, Effects, Faults, Fence, Group, Order, ProcessId, Property,
    Protocol, Strategy, Topology, labelled,
};

use crate::catalogue::{Configured, Parameters, Unknown};

/// One process on the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DijkstraRing {
    group: Group,
    /// *K*.
    states: u32,
    pass_after: u64,
    repeat: Delay,
    /// Our state, and what we last heard of our predecessor's.
    state: State,
    phase: Phase,
}

/// A process's state in the sense of the paper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    /// *S*: our own.
    pub own: u32,
    /// *L*: that of our predecessor, as we last heard.
    pub left: u32,
}

/// Where the local user stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting,
    Inside,
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "This is my state."
    State {
        /// The sender's.
        own: u32,
    },
}

labelled!(Message, Mutex, State => "state");

/// The timers of this algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// Nobody here wanted the privilege: move.
    Pass,
    /// Say the state again.
    Repeat,
}

/// What is fixed for life.
#[derive(Clone, Debug)]
pub struct Config {
    /// *K*, at least 2; `None`: 2N, which is enough for every start.
    pub states: Option<u32>,
    /// By process, the state to start in; whoever is not listed starts with zeros.
    pub start: Arc<[State]>,
    /// The longest that a privileged process waits before it moves on, in ticks: one hop.
    pub pass_after: u64,
    /// When to say the state again.
    pub repeat: Delay,
}

impl Config {
    /// For messages that take at most `delay` ticks. Everybody starts with zeros: that is
    /// converged, and the first process is privileged.
    pub fn of(delay: u64) -> Self {
        let repeat = Delay::ticks(3 * delay);
        Config { states: None, start: Arc::new([]), pass_after: delay, repeat }
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::of(Delay::units(1).max)
    }
}

impl Configured for Config {
    fn configured(parameters: &Parameters) -> Result<Self, Unknown> {
        parameters.no_variants()?;
        Ok(Config::of(parameters.delay))
    }
}

impl Protocol for DijkstraRing {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, fx: &mut impl Effects<Self>) -> Self {
        let states = config.states.unwrap_or(2 * group.size());
        let State { own, left } = config.start.get(group.me().index()).copied().unwrap_or_default();
        assert!(states > 1, "a ring needs two states, to tell a change from none");
        let mut ring = DijkstraRing {
            group,
            states,
            pass_after: config.pass_after,
            repeat: config.repeat,
            state: State { own: own % states, left: left % states },
            phase: Phase::Idle,
        };
        if !ring.is_alone() {
            fx.set_timer(Timer::Repeat, ring.repeat);
            ring.wait_to_pass(fx);
        }
        ring
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match (command, self.phase) {
            (Command::Enter, Phase::Idle) => {
                self.phase = Phase::Waiting;
                fx.cancel_timer(Timer::Pass);
                self.enter_if_privileged(fx);
            }
            (Command::Exit, Phase::Inside) => {
                self.phase = Phase::Idle;
                fx.emit(Event::Exited);
                self.pass(fx);
            }
            (Command::Enter, _) => panic!("a process asks only when it neither waits nor is in"),
            (Command::Exit, _) => panic!("only a process that is inside can leave"),
        }
    }

    fn on_message(&mut self, _: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        let Message::State { own } = message;
        let left = own % self.states;
        if left == self.state.left {
            return;
        }
        self.state.left = left;
        match self.phase {
            Phase::Idle => self.wait_to_pass(fx),
            Phase::Waiting => self.enter_if_privileged(fx),
            Phase::Inside => {}
        }
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Pass => self.pass(fx),
            Timer::Repeat => {
                fx.set_timer(Timer::Repeat, self.repeat);
                self.tell(fx);
            }
        }
    }
}

impl DijkstraRing {
    /// Whether this process has the privilege, as far as it knows.
    pub fn is_privileged(&self) -> bool {
        let State { own, left } = self.state;
        self.is_alone() || (own == left) == self.is_first()
    }

    /// Its state, and what it last heard.
    pub fn state(&self) -> State {
        self.state
    }

    fn enter_if_privileged(&mut self, fx: &mut impl Effects<Self>) {
        if self.is_privileged() {
            self.phase = Phase::Inside;
            fx.emit(Event::Entered { fence: Fence::NONE });
        }
    }

    /// Nobody here wants to enter: a privilege is kept for a moment.
    fn wait_to_pass(&mut self, fx: &mut impl Effects<Self>) {
        if self.is_privileged() {
            fx.set_timer(Timer::Pass, Delay { min: 0, max: self.pass_after });
        } else {
            fx.cancel_timer(Timer::Pass);
        }
    }

    /// Moves, unless the privilege has gone meanwhile.
    fn pass(&mut self, fx: &mut impl Effects<Self>) {
        if self.is_alone() || !self.is_privileged() {
            return;
        }
        let State { own, left } = self.state;
        self.state.own = if self.is_first() { (own + 1) % self.states } else { left };
        self.tell(fx);
    }

    fn tell(&mut self, fx: &mut impl Effects<Self>) {
        fx.send(self.group.successor(), Message::State { own: self.state.own });
    }

    fn is_first(&self) -> bool {
        self.group.me() == ProcessId(0)
    }

    fn is_alone(&self) -> bool {
        self.group.size() == 1
    }
}

impl Algorithm for DijkstraRing {
    fn card(_: &Config, size: u32) -> Card {
        Card {
            strategy: Strategy::Token,
            order: Order::Fifo,
            faults: Faults {
                loss: true,
                ..Faults::duplication(
                    "converges from any states; until then several may be inside, so what is \
                       promised holds for a start that is converged",
                )
            },
            topology: Topology::UnidirectionalRing,
            messages: Cost::per_entry("1 … ∞", 1, None).none_alone(size),
            theory: Some(Theory::lock(["0…N", "1", "no"], Hops::ring(size))),
            promises: [
                Property::MutualExclusion,
                Property::StarvationFreedom,
                Property::Bypass(Some(1)),
            ]
            .into(),
            ..Card::mutex(
                "dijkstra-ring",
                "a ring of K states that converges to one privilege from any start",
                "Dijkstra, CACM 17(11), 1974",
            )
        }
    }
}
