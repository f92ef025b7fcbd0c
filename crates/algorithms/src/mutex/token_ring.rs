//! The token ring: the holder of the token may enter, and passes it on.
//!
//! G. Le Lann, *Distributed systems – towards a formal approach*, IFIP Congress 1977, in the form
//! that textbooks give: the ring is logical, independent of physical proximity.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order, no crash |
//! | messages per entry | 1 when all want to enter, without bound when none does |
//! | delay to enter, uncontended | 0 to N messages |
//! | delay from exit to the next entry | 1 to N messages |
//!
//! **Why it is right.** There is one token, either in flight or at one process, and only its holder
//! may be inside. A process inside eventually leaves, and the holder passes the token on, even when
//! it wants to enter again. So the token visits all processes in turn. While a process waits, every
//! other process enters at most once.
//!
//! A holder that does not want to enter keeps the token for a short time, until its timer `Pass`
//! fires. Otherwise the token of an idle ring would circulate without a pause. The token counts the
//! entries; the count is the fence. Two tokens that meet (after a duplication) become one again.

use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{ExpectedCosts, HopRange};
use tenure_core::{
    Algorithm, AlgorithmClass, Card, Delay, Effects, Fence, Group, MessageCost, ProcessId,
    ProcessKnowledge, Property, Protocol, ToleratedFaults, Topology, labelled,
};

use crate::Variants;
use crate::catalogue_error::CatalogueError;
use crate::parameters::{FromParameters, Parameters};
use crate::variants::{fault_tolerant_variant, variant_ids};

/// One process on the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenRing {
    group: Group,
    variants: Variants<VariantId>,
    /// Maximum time for which an idle process keeps the token, in ticks.
    pass_after: u64,
    phase: Phase,
}

/// State of this process's own request for the critical section. The process has the token in the
/// states `Holding` and `Inside`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting,
    /// The process has the token, and its user has not requested entry. The process passes the
    /// token on when the timer `Pass` fires.
    Holding {
        /// Number of entries into the critical section so far, by all processes.
        entries: u64,
    },
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
    /// Passes the token. Its holder may enter the critical section.
    Token {
        /// Number of entries into the critical section so far, by all processes.
        entries: u64,
    },
}

labelled!(Message, Mutex, Token => "token");

/// Timers of this algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// The user of this process has not used the token in time, so the process passes the token on.
    Pass,
}

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config {
    /// Maximum time for which an idle process keeps the token, in ticks. By default, it is the
    /// maximum delay of a message.
    pub pass_after: u64,
    /// Variants that are switched on.
    pub variants: Variants<VariantId>,
}

impl Default for Config {
    fn default() -> Self {
        Config { pass_after: Delay::time_units(1).max, variants: Variants::none() }
    }
}

impl FromParameters for Config {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        Ok(Config { pass_after: parameters.delay, variants: parameters.variants()? })
    }
}

variant_ids! {
    Backwards = "backwards", unsound,
        "the token goes to the predecessor: every process is served, but against the ring"
        => "", "-n 3";
    KeepsToken = "keeps-token", unsound,
        "a process that leaves keeps the token for a moment, and may enter again before a waiting \
         neighbour"
        => "", "-n 2 --entries 2,1 --property bounded-bypass=1";
}

impl Protocol for TokenRing {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    type Stable = ();

    /// Boots the process. The token starts at the first process. A restarted process creates no
    /// second token.
    fn boot(
        group: Group,
        config: &Config,
        stable: Option<()>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let Config { pass_after, variants } = *config;
        let mut ring = TokenRing { group, variants, pass_after, phase: Phase::Idle };
        if group.me() == ProcessId(0) && stable.is_none() {
            ring.hold(0, fx);
        }
        ring
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match (command, self.phase) {
            (Command::Enter, Phase::Idle) => self.phase = Phase::Waiting,
            (Command::Enter, Phase::Holding { entries }) => {
                fx.cancel_timer(Timer::Pass);
                self.enter(entries, fx);
            }
            (Command::Exit, Phase::Inside { entries }) => {
                fx.emit(Event::Exited);
                if self.variants.has(VariantId::KeepsToken) {
                    self.hold(entries, fx);
                } else {
                    self.pass(entries, fx);
                }
            }
            (Command::Enter, _) => panic!("a process may request only when idle"),
            (Command::Exit, _) => panic!("only a process inside may exit"),
        }
    }

    fn on_message(&mut self, _: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        let Message::Token { entries: arrived } = message;
        match &mut self.phase {
            Phase::Idle => self.hold(arrived, fx),
            Phase::Waiting => self.enter(arrived, fx),
            Phase::Holding { entries } | Phase::Inside { entries } => {
                *entries = arrived.max(*entries);
            }
        }
    }

    fn on_timer(&mut self, Timer::Pass: Timer, fx: &mut impl Effects<Self>) {
        if let Phase::Holding { entries } = self.phase {
            self.pass(entries, fx);
        }
    }
}

impl TokenRing {
    /// Keeps the token, and sets the timer `Pass`, after which this process passes the token on. A
    /// process alone on the ring sets no timer and keeps the token.
    fn hold(&mut self, entries: u64, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Holding { entries };
        if !self.is_alone() {
            fx.set_timer(Timer::Pass, Delay { min: 0, max: self.pass_after });
        }
    }

    fn enter(&mut self, entries: u64, fx: &mut impl Effects<Self>) {
        let entries = entries + 1;
        self.phase = Phase::Inside { entries };
        fx.emit(Event::Entered { fence: Fence(0, entries) });
    }

    /// Passes the token to the next process on the ring. A process alone on the ring keeps it.
    fn pass(&mut self, entries: u64, fx: &mut impl Effects<Self>) {
        if self.is_alone() {
            return self.hold(entries, fx);
        }
        self.phase = Phase::Idle;
        fx.send(self.next(), Message::Token { entries });
    }

    fn next(&self) -> ProcessId {
        match self.variants.has(VariantId::Backwards) {
            false => self.group.successor(),
            true => self.group.predecessor(),
        }
    }

    fn is_alone(&self) -> bool {
        self.group.size() == 1
    }
}

impl Algorithm for TokenRing {
    fn card(_: &Config, size: u32) -> Card {
        Card {
            strategy: AlgorithmClass::Token,
            faults: ToleratedFaults::none(
                "a crash or a lost token stops it, and a duplicated token lets two in",
            ),
            topology: Topology::UnidirectionalRing,
            knows: ProcessKnowledge::UNIFORM,
            messages: MessageCost::per_entry("1 … ∞", 1, None).zero_if_alone(size),
            theory: Some(ExpectedCosts::lock(
                ["0…N", "1", "except for communication between users"],
                HopRange::ring(size),
            )),
            variants: Variants::<VariantId>::declarations()
                .into_iter()
                .chain([fault_tolerant_variant(
                    "suspected processes are skipped, and a lost token is replaced, as in \
                     repaired-ring",
                )])
                .collect(),
            ..Card::mutex(
                "token-ring",
                "the holder of the token may enter, and passes it on",
                "Le Lann, IFIP Congress, 1977",
            )
            .with_promises([Property::FirstComeFirstServed, Property::Bypass(Some(1))])
        }
    }
}
