//! Dijkstra's self-stabilizing ring of K states: from any initial states, it converges to exactly
//! one privileged process at a time.
//!
//! E. W. Dijkstra, *Self-stabilizing systems in spite of distributed control*, CACM 17(11), 1974.
//! In the paper, a process reads its neighbour's state. Here every process repeatedly sends its
//! state to its successor.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, channels first in, first out; any states at the start |
//! | messages per entry | 1 when all want to enter, without bound when none does |
//! | delay to enter, uncontended | 0 to N messages, once converged |
//! | delay from exit to the next entry | 1 to N messages |
//!
//! **Why it is right.** A process has a state `x` below K and the last known state of its
//! predecessor. The first process is privileged while the two are equal, and moves by advancing its
//! state. Every other process is privileged while the two differ, and moves by copying the state of
//! its predecessor. A privileged process may enter, and moves when it leaves. Only the first
//! process creates new states; all others copy. The other N − 1 states and the N known states of
//! predecessors are 2N − 1 values. So if K is at least 2N, the first process eventually reaches a
//! state that exists nowhere else on the ring. It stays in this state until the state has travelled
//! around the ring. At that moment every process is in this state. From then on the states differ
//! at only one place on the ring, and the process at this place is privileged. Messages in flight
//! at the start may contain other states, so K must then be larger by the number of these messages.
//! Fewer states suffice in small rings whose links hold at most one message. The minimum is 3 for
//! two processes, and 5 for three (`tenure check dijkstra-ring -n 2 --states 3 --from
//! any-with-messages`). The ring of the paper, without messages, is
//! [`KStateRing`](crate::stabilization::KStateRing).
//!
//! **What it does not promise.** Mutual exclusion holds only after the ring has converged. Before
//! that, several processes may be inside, and no process can detect this. The ring starts converged
//! with the states of [`Config::default`]. It may have to converge after a start in other states,
//! or after a process restarted in a different state. States repeat, so an entry has no fence. Lost
//! or duplicated messages do no harm, because every process sends its state again.

use alloc::sync::Arc;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{ExpectedCosts, HopRange};
use tenure_core::{
    Algorithm, AlgorithmClass, Card, ChannelOrder, Delay, Effects, Fence, Group, MessageCost,
    ProcessId, Property, Protocol, ToleratedFaults, Topology, labelled,
};

use crate::catalogue_error::CatalogueError;
use crate::parameters::{FromParameters, Parameters};

/// One process on the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KStateTokenRing {
    group: Group,
    /// *K*: number of possible states of a process.
    states: u32,
    /// Maximum time for which a process keeps a privilege that its user does not use, in ticks.
    pass_after: u64,
    /// Interval at which this process sends its state again.
    repeat: Delay,
    state: State,
    phase: Phase,
}

/// State of a process in the paper. It consists of two numbers below K: the process's own state,
/// and the last known state of its predecessor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    /// *S*: the process's own state.
    pub own: u32,
    /// *L*: last known state of the process's predecessor.
    pub left: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting,
    Inside,
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Reports the state of the sender to its successor.
    State {
        /// State of the sender.
        own: u32,
    },
}

labelled!(Message, Mutex, State => "state");

/// Timers of this algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// The user has not used the privilege in time, so this process passes the privilege on.
    Pass,
    /// This process sends its state again.
    Repeat,
}

/// Configuration of a process: the number of states, the initial states on the ring, and the times
/// after which a process passes the privilege on or sends its state again.
#[derive(Clone, Debug)]
pub struct Config {
    /// *K*: number of states of a process, at least 2. If `None`, the number is 2N. With 2N states
    /// the ring converges from every start without messages in flight.
    pub state_count: Option<u32>,
    /// Initial states of the processes, by index. Numbers above K − 1 are taken modulo K. A process
    /// without an element starts with zeros.
    pub initial_states: Arc<[State]>,
    /// Maximum time for which a process keeps a privilege that its user does not use, in ticks. By
    /// default, it is the maximum delay of a message.
    pub pass_after: u64,
    /// Interval at which a process sends its state again.
    pub repeat_interval: Delay,
}

impl Config {
    /// Returns a configuration for messages that take at most `delay` ticks. All states start as
    /// zero: the ring has converged, and the first process is privileged.
    pub fn with_defaults(delay: u64) -> Self {
        let repeat = Delay::ticks(3 * delay);
        Config {
            state_count: None,
            initial_states: Arc::new([]),
            pass_after: delay,
            repeat_interval: repeat,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::with_defaults(Delay::time_units(1).max)
    }
}

impl FromParameters for Config {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        parameters.reject_variants()?;
        Ok(Config::with_defaults(parameters.delay))
    }
}

impl Protocol for KStateTokenRing {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, fx: &mut impl Effects<Self>) -> Self {
        let states = config.state_count.unwrap_or(2 * group.size());
        let State { own, left } =
            config.initial_states.get(group.me().index()).copied().unwrap_or_default();
        assert!(states > 1, "a ring needs at least two states");
        let mut ring = KStateTokenRing {
            group,
            states,
            pass_after: config.pass_after,
            repeat: config.repeat_interval,
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
            (Command::Enter, _) => panic!("a process may request only when idle"),
            (Command::Exit, _) => panic!("only a process inside may exit"),
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
                self.send_state(fx);
            }
        }
    }
}

impl KStateTokenRing {
    /// Returns true if this process has the privilege, according to its own state and the last
    /// known state of its predecessor. A process alone on the ring always has the privilege.
    pub fn is_privileged(&self) -> bool {
        let State { own, left } = self.state;
        self.is_alone() || (own == left) == self.is_first()
    }

    /// Returns the current state of this process, and the last known state of its predecessor.
    pub fn state(&self) -> State {
        self.state
    }

    fn enter_if_privileged(&mut self, fx: &mut impl Effects<Self>) {
        if self.is_privileged() {
            self.phase = Phase::Inside;
            fx.emit(Event::Entered { fence: Fence::NONE });
        }
    }

    /// Sets the timer `Pass` if this process is privileged. Otherwise cancels the timer. If the
    /// user does not use the privilege in time, the timer makes this process pass the privilege on.
    fn wait_to_pass(&mut self, fx: &mut impl Effects<Self>) {
        if self.is_privileged() {
            fx.set_timer(Timer::Pass, Delay { min: 0, max: self.pass_after });
        } else {
            fx.cancel_timer(Timer::Pass);
        }
    }

    /// Passes the privilege on to the next process by changing the state of this process. Does
    /// nothing if this process is not privileged, or is alone on the ring.
    fn pass(&mut self, fx: &mut impl Effects<Self>) {
        if self.is_alone() || !self.is_privileged() {
            return;
        }
        let State { own, left } = self.state;
        self.state.own = if self.is_first() { (own + 1) % self.states } else { left };
        self.send_state(fx);
    }

    fn send_state(&mut self, fx: &mut impl Effects<Self>) {
        fx.send(self.group.successor(), Message::State { own: self.state.own });
    }

    fn is_first(&self) -> bool {
        self.group.me() == ProcessId(0)
    }

    fn is_alone(&self) -> bool {
        self.group.size() == 1
    }
}

impl Algorithm for KStateTokenRing {
    fn card(_: &Config, size: u32) -> Card {
        Card {
            strategy: AlgorithmClass::Token,
            order: ChannelOrder::Fifo,
            faults: ToleratedFaults {
                loss: true,
                ..ToleratedFaults::duplication_only(
                    "converges from any states; until then several may be inside, so the promises \
                     hold for a converged start",
                )
            },
            topology: Topology::UnidirectionalRing,
            messages: MessageCost::per_entry("1 … ∞", 1, None).zero_if_alone(size),
            theory: Some(ExpectedCosts::lock(["0…N", "1", "no"], HopRange::ring(size))),
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
