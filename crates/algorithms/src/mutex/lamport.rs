//! Lamport's mutual exclusion: everybody keeps everybody's queue.
//!
//! L. Lamport, *Time, clocks, and the ordering of events in a distributed system*, CACM 21(7),
//! 1978.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable first-in-first-out channels, no crash |
//! | messages per entry | 3(N − 1) |
//! | delay to enter, uncontended | 2 messages |
//! | delay from exit to the next entry | 1 message |
//!
//! **Why it is right.** A process enters when it has a reply with a later clock from *every*
//! peer, and its own request is the smallest that it knows. Channels are first in, first out,
//! and whoever replied has the request's clock behind it: any request of a peer that is smaller
//! was sent before that peer's reply, has therefore arrived, and stands in the queue until it
//! is released. So of two that wait, the one with the larger request knows of the smaller one
//! and cannot enter before it has left. The smallest waits for nobody but replies, which are
//! sent at once.
//!
//! Whether an *equal* clock counted as a later one would make no difference. Each reply to our
//! request was sent after it was received, with a later clock, and the replies to our earlier ones
//! had all come before we could leave: a reply that comes while we wait is later. Where any message
//! counts, one with our request's very clock is a request that was made at the same time; if its
//! process goes first, we wait for its release in any case, which is later and comes after all
//! that it sent before.
//!
//! The paper takes *any* message with a later clock for a reply; that is the variant
//! `any-message`, and `suppressed-replies` uses it to save replies. To wait for the reply
//! itself, as textbooks do, costs nothing and makes what is awaited easier to see. Entries are
//! in the order of the stamps, hence of happened-before, as far as these messages carry it: what
//! the application says is in no clock.

mod rules;

use alloc::vec::Vec;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{Expected, Hops, Precision, Scene, Theory};
use tenure_core::{
    Algorithm, Card, Cost, Effects, Faults, Fence, Group, LamportClock, Never, Order, ProcessId,
    ProcessSet, Property, Protocol, Stamp, Stamped, labelled,
};

use rules::Rules;
pub use rules::Switch;

use crate::Variants;
use crate::catalogue::{Configured, Parameters, Unknown};

/// One process of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lamport {
    group: Group,
    variants: Variants<Switch>,
    /// `C_i`: the logical clock, advanced by every message sent or received.
    clock: LamportClock,
    phase: Phase,
    /// The *request queue* without our own request: the others', the smallest first.
    requests: Vec<Stamp>,
}

/// Where this process stands, and its own request in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting {
        /// `T_m:P_i`.
        request: Stamp,
        /// From whom nothing with a later clock has come yet.
        awaited: ProcessSet,
    },
    Inside {
        request: Stamp,
    },
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "I want to enter, and this is my place in the order."
    Request {
        /// The place.
        stamp: Stamp,
    },
    /// "I know of your request, and all that I ask from now on comes later."
    Reply {
        /// The sender's clock.
        clock: u64,
    },
    /// "I have left."
    Release {
        /// The sender's clock.
        clock: u64,
        /// Which request is over.
        request: Stamp,
    },
}

labelled!(Message, Mutex, Request => "request", Reply => "reply", Release => "release");

/// What is fixed for life.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Which variants are switched on.
    pub variants: Variants<Switch>,
}

impl Configured for Config {
    fn configured(parameters: &Parameters) -> Result<Self, Unknown> {
        Ok(Config { variants: parameters.variants()? })
    }
}

impl Protocol for Lamport {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        Lamport {
            group,
            variants: config.variants,
            clock: LamportClock::default(),
            phase: Phase::Idle,
            requests: Vec::new(),
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Enter => self.request(fx),
            Command::Exit => self.exit(fx),
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        let later = Stamp { clock: message.clock(), process: from };
        self.clock.observe(later.clock);
        self.clock.tick();
        if self.rules().is_reply(&message) {
            self.hear(later);
        }
        match message {
            Message::Request { stamp } => {
                self.enqueue(stamp);
                if self.rules().replies(stamp, self.waiting()) {
                    fx.send(from, Message::Reply { clock: self.clock.tick() });
                }
            }
            Message::Release { request, .. } => self.requests.retain(|other| *other != request),
            Message::Reply { .. } => {}
        }
        self.enter_if_granted(fx);
    }
}

impl Lamport {
    fn request(&mut self, fx: &mut impl Effects<Self>) {
        assert!(self.phase == Phase::Idle, "a process asks only when it neither waits nor is in");
        let request = self.rules().stamp(self.clock.tick(), self.group.me());
        let awaited = self.group.peers();
        fx.broadcast(&awaited, Message::Request { stamp: request });
        self.phase = Phase::Waiting { request, awaited };
        self.enter_if_granted(fx);
    }

    fn enter_if_granted(&mut self, fx: &mut impl Effects<Self>) {
        let Phase::Waiting { request, awaited } = &self.phase else { return };
        let request = *request;
        let rules = self.rules();
        let all_replied = awaited.is_empty();
        let on_top = self.requests.iter().all(|other| rules.precedes(request, *other));
        if rules.grants(all_replied, on_top) {
            self.phase = Phase::Inside { request };
            let fence = Fence(request.clock, u64::from(request.process.number()));
            fx.emit(Event::Entered { fence });
        }
    }

    fn exit(&mut self, fx: &mut impl Effects<Self>) {
        let Phase::Inside { request } = self.phase else {
            panic!("only a process that is inside can leave");
        };
        self.phase = Phase::Idle;
        fx.emit(Event::Exited);
        let clock = self.clock.tick();
        fx.broadcast(&self.group.peers(), Message::Release { clock, request });
    }

    /// Takes note that a peer's clock has come so far.
    fn hear(&mut self, later: Stamp) {
        if let Phase::Waiting { request, awaited } = &mut self.phase
            && later > *request
        {
            awaited.remove(later.process);
        }
    }

    /// Puts a peer's request into the queue; a duplicate changes nothing.
    fn enqueue(&mut self, request: Stamp) {
        if let Err(place) = self.requests.binary_search(&request) {
            self.requests.insert(place, request);
        }
    }

    /// Our own request, while it waits.
    fn waiting(&self) -> Option<Stamp> {
        match self.phase {
            Phase::Waiting { request, .. } => Some(request),
            Phase::Idle | Phase::Inside { .. } => None,
        }
    }

    fn rules(&self) -> Rules {
        Rules(self.variants)
    }
}

impl Message {
    /// The sender's clock.
    fn clock(&self) -> u64 {
        match self {
            Message::Request { stamp } => stamp.clock,
            Message::Reply { clock } | Message::Release { clock, .. } => *clock,
        }
    }
}

/// What the application carries besides is this clock, as with any message.
impl Stamped for Lamport {
    fn clock(&self) -> u64 {
        self.clock.now()
    }

    fn observe(&mut self, clock: u64) {
        self.clock.observe(clock);
    }
}

impl Algorithm for Lamport {
    fn card(config: &Config, size: u32) -> Card {
        let peers = u64::from(size - 1);
        let saves = config.variants.has(Switch::SuppressedReplies);
        Card {
            order: Order::Fifo,
            faults: Faults::duplication(
                "needs a reply and a release from every process: no crash, no loss",
            ),
            messages: Cost::per_entry(
                if saves { "2(N−1) … 3(N−1)" } else { "3(N−1)" },
                if saves { 2 * peers } else { 3 * peers },
                Some(3 * peers),
            ),
            theory: Some(Theory::lock(["2", "2", "if users pass its clock on"], Hops::ONE)),
            variants: Variants::<Switch>::declared(),
            ..Card::mutex(
                "lamport",
                "everybody keeps everybody's queue",
                "Lamport, CACM 21(7), 1978",
            )
            .promising([Property::Order])
        }
    }

    fn expected(config: &Config, size: u32, _: Scene) -> Option<Expected> {
        let saves = config.variants.has(Switch::SuppressedReplies);
        let precision = if saves { Precision::Most } else { Precision::Exact };
        Some(Expected::new(precision, 3 * u64::from(size - 1)))
    }

    fn rebases(_: &Config) -> bool {
        true
    }

    fn smallest_stamp(&self) -> Option<u64> {
        if !self.rules().orders_by_clock() {
            return None;
        }
        let own = match &self.phase {
            Phase::Waiting { request, .. } | Phase::Inside { request } => Some(request.clock),
            Phase::Idle => None,
        };
        let queued = self.requests.iter().map(|request| request.clock);
        queued.chain(own).chain([self.clock.now()]).min()
    }

    fn shift_stamps(&mut self, by: u64) {
        self.clock.0 -= by;
        self.requests.iter_mut().for_each(|request| request.clock -= by);
        match &mut self.phase {
            Phase::Waiting { request, .. } | Phase::Inside { request } => request.clock -= by,
            Phase::Idle => {}
        }
    }

    fn smallest_in_message(config: &Config, message: &Message) -> Option<u64> {
        if !Rules(config.variants).orders_by_clock() {
            return None;
        }
        Some(match message {
            Message::Release { clock, request } => request.clock.min(*clock),
            Message::Request { .. } | Message::Reply { .. } => message.clock(),
        })
    }

    fn shift_message(_: &Config, message: &mut Message, by: u64) {
        match message {
            Message::Request { stamp } => stamp.clock -= by,
            Message::Reply { clock } => *clock -= by,
            Message::Release { clock, request } => {
                *clock -= by;
                request.clock -= by;
            }
        }
    }
}
