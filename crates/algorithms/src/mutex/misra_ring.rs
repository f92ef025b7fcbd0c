//! Misra's ring: two tokens go round, and each finds out when the other is lost.
//!
//! J. Misra, *Detecting termination of distributed computations using markers*, PODC 1983.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, first-in-first-out channels, no crash; one of two tokens may be lost |
//! | messages per entry | 1 when everybody wants to enter, without bound when nobody does |
//! | delay to enter, uncontended | 0 to N messages; a lap more after a loss |
//! | delay from exit to the next entry | 1 to N messages |
//!
//! **Why it is right.** Whoever has the ping may enter; the pong only watches over it. Both carry
//! the same number, which changes whenever they meet at a process, and every process remembers
//! which token came last and with what number. Say that the ping comes twice to a process with one
//! number, and the pong did not come in between. A pong on the ring would have been overtaken by
//! the ping; where channels keep their order that happens at a process only, so they would have
//! met, and the number would be another one. So the pong is lost, and is made anew here. The same
//! holds for a lost ping. There are no timeouts, so that no delay is taken for a loss. When both
//! are lost, nobody is left to find out.
//!
//! Between two visits of a token to a process the two meet at most N times, so the number counts
//! modulo N + 1; modulo N, a token that has met the other at every process would be mistaken.
//!
//! Both tokens and all processes remember how many entries there have been. A pong that comes round
//! to find the ping lost has passed every process after the ping's last entry there, so the new
//! ping goes on counting where the lost one stopped: that is the fence.

use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{Hops, Theory};
use tenure_core::{
    Algorithm, Card, Cost, Delay, Effects, Faults, Fence, Group, Order, ProcessId, Property,
    Protocol, Strategy, Topology, labelled,
};

use crate::Variants;
use crate::catalogue::{Configured, Parameters, Unknown};
use crate::variants::switches;

/// One process on the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MisraRing {
    group: Group,
    /// The longest that a process keeps a token for which it has no use, in ticks.
    pass_after: u64,
    /// How many numbers there are.
    numbers: u32,
    phase: Phase,
    /// The number of the ping, while it is here.
    ping: Option<u32>,
    /// The number of the pong, while it is here.
    pong: Option<u32>,
    /// Which token came last, and with what number.
    last: Option<(Token, u32)>,
    /// The most entries that there have been, as far as we know.
    entries: u64,
}

/// Where this process stands; inside, it has the ping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting,
    Inside,
}

/// One of the two tokens, and the timer of whoever has no use for it: pass it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Token {
    /// The permission to enter.
    Ping,
    /// What finds out that the ping is lost.
    Pong,
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "Now it is you who may enter."
    Ping {
        /// Changes whenever the two tokens meet.
        number: u32,
        /// How many entries there have been.
        entries: u64,
    },
    /// "As far as I am concerned, the ping is on its way."
    Pong {
        /// Changes whenever the two tokens meet.
        number: u32,
        /// How many entries there have been.
        entries: u64,
    },
}

labelled!(Message, Mutex, Ping => "ping", Pong => "pong");

/// What is fixed for life.
#[derive(Clone, Debug)]
pub struct Config {
    /// The longest that a process keeps a token for which it has no use, in ticks: one hop.
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
    FewNumbers = "few-numbers", unsound,
        "numbers count modulo N: a token that met the other everywhere takes it for lost"
        => "", "-n 2 --property mutual-exclusion";
}

impl Protocol for MisraRing {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Token;
    type Stable = ();

    /// Both tokens start at the first process; one that recovers makes no others.
    fn boot(
        group: Group,
        config: &Config,
        stable: Option<()>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let few = config.variants.has(Switch::FewNumbers);
        let mut ring = MisraRing {
            group,
            pass_after: config.pass_after,
            numbers: if few { group.size() } else { group.size() + 1 },
            phase: Phase::Idle,
            ping: None,
            pong: None,
            last: None,
            entries: 0,
        };
        if group.me() == ProcessId(0) && stable.is_none() {
            ring.keep(Token::Ping, 0, fx);
            ring.keep(Token::Pong, 0, fx);
        }
        ring
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match (command, self.phase) {
            (Command::Enter, Phase::Idle) => {
                self.phase = Phase::Waiting;
                if self.ping.is_some() {
                    fx.cancel_timer(Token::Ping);
                    self.enter(fx);
                }
            }
            (Command::Exit, Phase::Inside) => {
                self.phase = Phase::Idle;
                fx.emit(Event::Exited);
                self.pass(Token::Ping, fx);
            }
            (Command::Enter, _) => panic!("a process asks only when it neither waits nor is in"),
            (Command::Exit, _) => panic!("only a process that is inside can leave"),
        }
    }

    fn on_message(&mut self, _: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        let (token, number, entries) = match message {
            Message::Ping { number, entries } => (Token::Ping, number, entries),
            Message::Pong { number, entries } => (Token::Pong, number, entries),
        };
        self.entries = self.entries.max(entries);
        let other_is_lost = self.last == Some((token, number));
        self.last = Some((token, number));
        self.keep(token, number, fx);
        if other_is_lost {
            let other = if token == Token::Ping { Token::Pong } else { Token::Ping };
            self.keep(other, number, fx);
        }
    }

    fn on_timer(&mut self, token: Token, fx: &mut impl Effects<Self>) {
        self.pass(token, fx);
    }
}

impl MisraRing {
    /// A token is here. If the other one is here as well, they meet.
    fn keep(&mut self, token: Token, number: u32, fx: &mut impl Effects<Self>) {
        *self.slot(token) = Some(number);
        if self.ping.is_some() && self.pong.is_some() {
            let next = Some((number + 1) % self.numbers);
            (self.ping, self.pong) = (next, next);
        }
        match (token, self.phase) {
            (Token::Ping, Phase::Waiting) => self.enter(fx),
            (Token::Ping, Phase::Inside) => {}
            // Who is alone has nobody to pass it to.
            _ if self.group.size() == 1 => {}
            _ => fx.set_timer(token, Delay { min: 0, max: self.pass_after }),
        }
    }

    fn enter(&mut self, fx: &mut impl Effects<Self>) {
        self.entries += 1;
        self.phase = Phase::Inside;
        fx.emit(Event::Entered { fence: Fence(0, self.entries) });
    }

    fn pass(&mut self, token: Token, fx: &mut impl Effects<Self>) {
        if self.group.size() == 1 {
            return;
        }
        let Some(number) = self.slot(token).take() else { return };
        let entries = self.entries;
        let message = match token {
            Token::Ping => Message::Ping { number, entries },
            Token::Pong => Message::Pong { number, entries },
        };
        fx.send(self.group.successor(), message);
    }

    fn slot(&mut self, token: Token) -> &mut Option<u32> {
        match token {
            Token::Ping => &mut self.ping,
            Token::Pong => &mut self.pong,
        }
    }
}

impl Algorithm for MisraRing {
    fn card(_: &Config, size: u32) -> Card {
        Card {
            strategy: Strategy::Token,
            order: Order::Fifo,
            faults: Faults::none(
                "survives the loss of one token of two, again and again; both lost, or a \
                 crash, and it stops",
            )
            .and_losses(1),
            topology: Topology::UnidirectionalRing,
            messages: Cost::per_entry("1 … ∞", 1, None).none_alone(size),
            theory: Some(Theory::lock(["0…N", "1", "no"], Hops::ring(size))),
            variants: Variants::<Switch>::declared(),
            ..Card::mutex(
                "misra-ring",
                "two tokens go round, and each finds out when the other is lost",
                "Misra, PODC, 1983",
            )
            .promising([Property::Bypass(Some(1))])
        }
    }
}
