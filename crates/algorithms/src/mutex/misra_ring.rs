//! Misra's ring: two tokens circulate, and each detects the loss of the other.
//!
//! J. Misra, *Detecting termination of distributed computations using markers*, PODC 1983.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, first-in-first-out channels, no crash; one of two tokens may be lost |
//! | messages per entry | 1 when all want to enter, without bound when none does |
//! | delay to enter, uncontended | 0 to N messages; N more after a loss |
//! | delay from exit to the next entry | 1 to N messages |
//!
//! **Why it is right.** The two tokens are called *ping* and *pong*. The holder of the ping may
//! enter. The pong only detects the loss of the ping. Both tokens carry the same number, which
//! changes whenever the tokens meet at a process. Every process remembers the token that it
//! received last, and the number of this token. Suppose that the ping arrives twice at a process
//! with the same number, and the pong did not arrive in between. If the pong were still on the
//! ring, the ping would have overtaken it. Channels are FIFO, so a token overtakes the other only
//! at a process, where both meet and the number changes. So the pong is lost, and this process
//! makes it again. A lost ping is detected in the same way. There are no timeouts, so a delay is
//! not mistaken for a loss. If both tokens are lost, the loss goes undetected.
//!
//! The number is counted modulo N + 1, because the tokens meet at most N times between two visits
//! of a token to the same process. Modulo N, the number would be unchanged after N meetings, and
//! the process would wrongly conclude that the other token is lost.
//!
//! The count of all entries serves as the fence. Both tokens and all processes store the highest
//! count that they know. When the pong detects the loss of the ping, the pong has visited each
//! process after the last entry of that process. So the pong knows the count of the lost ping, and
//! the new ping continues from this count.

use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{ExpectedCosts, HopRange};
use tenure_core::{
    Algorithm, AlgorithmClass, Card, ChannelOrder, Delay, Effects, Fence, Group, MessageCost,
    ProcessId, Property, Protocol, ToleratedFaults, Topology, labelled,
};

use crate::Variants;
use crate::catalogue_error::CatalogueError;
use crate::parameters::{FromParameters, Parameters};
use crate::variants::variant_ids;

/// One process on the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MisraRing {
    group: Group,
    /// Maximum time for which an idle process keeps a token, in ticks.
    pass_after: u64,
    /// Modulus of the tokens' numbers.
    numbers: u32,
    phase: Phase,
    /// Number on the ping, the token that permits entry to the critical section. `None` if this
    /// process does not have the ping.
    ping: Option<u32>,
    /// Number on the pong, the token that detects the loss of the ping. `None` if this process does
    /// not have the pong.
    pong: Option<u32>,
    /// Token that this process received last, with the number of the token. `None` if this process
    /// has not received a token yet.
    last: Option<(Token, u32)>,
    /// Number of entries into the critical section so far, by all processes, as far as this process
    /// knows. It is the largest count that a token has brought to this process.
    entries: u64,
}

/// State of this process's own request. The process has the ping while it is inside the critical
/// section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting,
    Inside,
}

/// One of the two tokens. A value of this type also identifies the timer of this token at a
/// process. When the timer fires, the process passes the token on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Token {
    /// The token that permits its holder to enter the critical section.
    Ping,
    /// The token that detects the loss of the ping.
    Pong,
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Passes the ping. Its holder may enter the critical section.
    Ping {
        /// Number of the token, which changes whenever the two tokens meet.
        number: u32,
        /// Number of entries into the critical section so far, by all processes.
        entries: u64,
    },
    /// Passes the pong, the token that detects the loss of the ping.
    Pong {
        /// Number of the token, which changes whenever the two tokens meet.
        number: u32,
        /// Number of entries into the critical section that the pong knows. The latest entries may
        /// be missing.
        entries: u64,
    },
}

labelled!(Message, Mutex, Ping => "ping", Pong => "pong");

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config {
    /// Maximum time for which a process keeps a token, in ticks. There are two exceptions: a
    /// process inside the critical section keeps the ping until it exits, and a process alone on
    /// the ring keeps both tokens. The default is one time unit.
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

    /// Boots the process. Both tokens start at the first process. A restarted process creates no
    /// tokens.
    fn boot(
        group: Group,
        config: &Config,
        stable: Option<()>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let few = config.variants.has(VariantId::FewNumbers);
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
            (Command::Enter, _) => panic!("a process may request only when idle"),
            (Command::Exit, _) => panic!("only a process inside may exit"),
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
    /// Stores a token that has arrived, with its number. If this process now has both tokens, both
    /// tokens get the next number. If the token is the ping and this process waits, the process
    /// enters the critical section. A process inside keeps the ping until it exits. In all other
    /// cases, the process passes the token on when the timer of the token fires. A process alone on
    /// the ring keeps both tokens.
    fn keep(&mut self, token: Token, number: u32, fx: &mut impl Effects<Self>) {
        *self.slot(token) = Some(number);
        if self.ping.is_some() && self.pong.is_some() {
            let next = Some((number + 1) % self.numbers);
            (self.ping, self.pong) = (next, next);
        }
        match (token, self.phase) {
            (Token::Ping, Phase::Waiting) => self.enter(fx),
            (Token::Ping, Phase::Inside) => {}
            // A process alone on the ring keeps its tokens.
            _ if self.group.size() == 1 => {}
            _ => fx.set_timer(token, Delay { min: 0, max: self.pass_after }),
        }
    }

    fn enter(&mut self, fx: &mut impl Effects<Self>) {
        self.entries += 1;
        self.phase = Phase::Inside;
        fx.emit(Event::Entered { fence: Fence(0, self.entries) });
    }

    /// Passes a token to the successor. Does nothing if this process does not have the token, or is
    /// alone on the ring.
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
            strategy: AlgorithmClass::Token,
            order: ChannelOrder::Fifo,
            faults: ToleratedFaults::none(
                "survives repeated losses of one of its two tokens; the loss of both, or a crash, \
                 stops it",
            )
            .with_losses(1),
            topology: Topology::UnidirectionalRing,
            messages: MessageCost::per_entry("1 … ∞", 1, None).zero_if_alone(size),
            theory: Some(ExpectedCosts::lock(
                ["0…N", "1 (2 after a loss)", "no"],
                HopRange::ring(size),
            )),
            variants: Variants::<VariantId>::declarations(),
            ..Card::mutex(
                "misra-ring",
                "two tokens circulate, and each detects the loss of the other",
                "Misra, PODC, 1983",
            )
            // A new ping may start at a process behind the waiting process. Then another process
            // can enter a second time before the waiting process.
            .with_promises([Property::Bypass(Some(2))])
        }
    }
}
