//! The token ring: whoever has the token may enter, and passes it on.
//!
//! G. Le Lann, *Distributed systems – towards a formal approach*, IFIP Congress 1977, in the form
//! that textbooks give: the ring is logical, and has nothing to do with who is near whom.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order, no crash |
//! | messages per entry | 1 when everybody wants to enter, without bound when nobody does |
//! | delay to enter, uncontended | 0 to N messages |
//! | delay from exit to the next entry | 1 to N messages |
//!
//! **Why it is right.** There is one token, it is either under way or at one process, and only
//! who has it is inside. Whoever is inside leaves in the end, and whoever has the token passes it
//! on, also when it wants to enter again. So the token visits everybody once in a lap, and while
//! one waits, every other enters at most once.
//!
//! A holder that does not want to enter keeps the token for a moment, until its timer `Pass`
//! fires: an idle ring would else have no end of one instant. The token counts the entries; that
//! is the fence. Two tokens that meet (one was duplicated) become one again.

use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{Hops, Theory};
use tenure_core::{
    Algorithm, Card, Cost, Delay, Effects, Faults, Fence, Group, Knowledge, ProcessId, Property,
    Protocol, Strategy, Topology, labelled,
};

use crate::Variants;
use crate::catalogue::{Configured, Parameters, Unknown};
use crate::variants::{switches, tolerant};

/// One process on the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TokenRing {
    group: Group,
    variants: Variants<Switch>,
    /// The longest that an idle holder keeps the token, in ticks.
    pass_after: u64,
    phase: Phase,
}

/// Where this process stands; the token is here in the last two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting,
    /// The timer `Pass` is armed.
    Holding {
        /// How many entries there have been.
        entries: u64,
    },
    Inside {
        /// How many entries there have been, this one included.
        entries: u64,
    },
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "Now it is you who may enter."
    Token {
        /// How many entries there have been.
        entries: u64,
    },
}

labelled!(Message, Mutex, Token => "token");

/// The timers of this algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// Nobody here wanted the token: pass it on.
    Pass,
}

/// What is fixed for life.
#[derive(Clone, Debug)]
pub struct Config {
    /// The longest that an idle holder keeps the token, in ticks: one hop.
    pub pass_after: u64,
    /// Which variants are switched on.
    pub variants: Variants<Switch>,
}

impl Default for Config {
    fn default() -> Self {
        Config { pass_after: Delay::units(1).max, variants: Variants::none() }
    }
}

impl Configured for Config {
    fn configured(parameters: &Parameters) -> Result<Self, Unknown> {
        Ok(Config { pass_after: parameters.delay, variants: parameters.variants()? })
    }
}

switches! {
    Backwards = "backwards", unsound,
        "the token goes to the predecessor: everybody is served, but against the ring"
        => "", "-n 3";
    KeepsToken = "keeps-token", unsound,
        "whoever leaves keeps the token for a moment, and may enter again before a neighbour who \
         waits"
        => "", "-n 2 --entries 2,1 --property bounded-bypass=1";
}

impl Protocol for TokenRing {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    type Stable = ();

    /// The token starts at the first process; one that recovers makes no second.
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
                if self.variants.has(Switch::KeepsToken) {
                    self.hold(entries, fx);
                } else {
                    self.pass(entries, fx);
                }
            }
            (Command::Enter, _) => panic!("a process asks only when it neither waits nor is in"),
            (Command::Exit, _) => panic!("only a process that is inside can leave"),
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
    /// Keeps a token that nobody here wants now. Who is alone has nobody to pass it to.
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

    fn pass(&mut self, entries: u64, fx: &mut impl Effects<Self>) {
        if self.is_alone() {
            return self.hold(entries, fx);
        }
        self.phase = Phase::Idle;
        fx.send(self.next(), Message::Token { entries });
    }

    fn next(&self) -> ProcessId {
        match self.variants.has(Switch::Backwards) {
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
            strategy: Strategy::Token,
            faults: Faults::none(
                "a crash or a lost token stops it, and a duplicated token lets two in",
            ),
            topology: Topology::UnidirectionalRing,
            knows: Knowledge::UNIFORM,
            messages: Cost::per_entry("1 … ∞", 1, None).none_alone(size),
            theory: Some(Theory::lock(["0…N", "1", "no"], Hops::ring(size))),
            variants: Variants::<Switch>::declared()
                .into_iter()
                .chain([tolerant(
                    "the repaired-ring: the suspected are skipped, a lost token is made anew",
                )])
                .collect(),
            ..Card::mutex(
                "token-ring",
                "whoever has the token may enter, and passes it on",
                "Le Lann, IFIP Congress, 1977",
            )
            .promising([Property::Order, Property::Bypass(Some(1))])
        }
    }
}
