//! Lamport's mutual exclusion: every process keeps the queue of all requests.
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
//! **Why it is right.** A process enters when it has a reply with a later clock from *every* peer,
//! and its own request is the smallest that it knows. After its reply, a peer makes only requests
//! with larger clocks. Channels are FIFO, so any smaller request of the peer has arrived before
//! this reply. The request stays in the queue until the peer releases it. So of two waiting
//! processes, the one with the larger request knows the smaller request, and cannot enter before
//! the other process has left. The process with the smallest request waits only for replies, which
//! are sent immediately.
//!
//! A reply has a later clock than the request that it answers: the peer has advanced its clock when
//! it received the request.
//!
//! The paper accepts *any* message with a later clock as a reply. The variants `any-message` and
//! `suppressed-replies` do so too. With `suppressed-replies`, a process does not reply if it waits
//! with a larger request: this request serves as the reply. By default a process waits for the
//! reply itself, as in textbooks. Entries are in the order of the timestamps. If one request
//! happened before another through messages of the algorithm, the first has the smaller timestamp.
//! The same holds through messages of applications only if these messages carry the clock (see
//! [`ExposesLogicalClock`]).

mod rules;

use alloc::vec::Vec;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{ExpectedCosts, HopRange, Prediction, PredictionKind, WorkloadKind};
use tenure_core::{
    Algorithm, Card, ChannelOrder, Effects, ExposesLogicalClock, Fence, Group, LamportClock,
    MessageCost, Never, ProcessId, ProcessSet, Property, Protocol, Timestamp, ToleratedFaults,
    labelled,
};

use rules::Rules;
pub use rules::VariantId;

use crate::Variants;

/// One process of Lamport's mutual exclusion algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lamport {
    group: Group,
    variants: Variants<VariantId>,
    /// Logical clock (`C_i` in the paper). It advances with every received message, and with every
    /// message or broadcast that this process sends.
    clock: LamportClock,
    phase: Phase,
    /// The *request queue*, smallest first. It does not contain this process's own request.
    requests: Vec<Timestamp>,
}

/// State of this process's own request for the critical section.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting {
        /// `T_m:P_i`: timestamp of the process's own request.
        request: Timestamp,
        /// Peers whose reply to the request has not arrived. A reply counts if its timestamp, the
        /// pair of its clock and its sender, is later than the request. With the variants
        /// `any-message` and `suppressed-replies`, any message with a later timestamp counts as a
        /// reply.
        awaited: ProcessSet,
    },
    Inside {
        request: Timestamp,
    },
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Requests entry to the critical section.
    Request {
        /// Timestamp of the request. The smallest has precedence.
        stamp: Timestamp,
    },
    /// Acknowledges a request. Every later request of the sender has a larger clock than this
    /// reply.
    Reply {
        /// Clock of the sender.
        clock: u64,
    },
    /// The sender has left the critical section.
    Release {
        /// Clock of the sender.
        clock: u64,
        /// Timestamp of the request with which the sender had entered the critical section.
        request: Timestamp,
    },
}

labelled!(Message, Mutex, Request => "request", Reply => "reply", Release => "release");

/// Configuration of one process: the variants that are switched on.
pub type Config = Variants<VariantId>;

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
            variants: *config,
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
        let later = Timestamp { clock: message.clock(), process: from };
        self.clock.observe(later.clock);
        self.clock.tick();
        if self.rules().counts_as_reply(&message) {
            self.on_later_clock(later);
        }
        match message {
            Message::Request { stamp } => {
                self.enqueue(stamp);
                if self.rules().must_reply(stamp, self.waiting()) {
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
        assert!(self.phase == Phase::Idle, "a process may request only when idle");
        let request = self.rules().request_timestamp(self.clock.tick(), self.group.me());
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
        if rules.may_enter(all_replied, on_top) {
            self.phase = Phase::Inside { request };
            let fence = Fence(request.clock, u64::from(request.process.display_number()));
            fx.emit(Event::Entered { fence });
        }
    }

    fn exit(&mut self, fx: &mut impl Effects<Self>) {
        let Phase::Inside { request } = self.phase else {
            panic!("only a process inside may exit");
        };
        self.phase = Phase::Idle;
        fx.emit(Event::Exited);
        let clock = self.clock.tick();
        fx.broadcast(&self.group.peers(), Message::Release { clock, request });
    }

    /// Handles the timestamp `later` of an arrived message. If the waiting request of this process
    /// has a smaller timestamp, the message counts as a reply, and its sender is no longer awaited.
    fn on_later_clock(&mut self, later: Timestamp) {
        if let Phase::Waiting { request, awaited } = &mut self.phase
            && later > *request
        {
            awaited.remove(later.process);
        }
    }

    /// Inserts a peer's request into the queue. Does nothing if the queue already contains the
    /// request.
    fn enqueue(&mut self, request: Timestamp) {
        if let Err(place) = self.requests.binary_search(&request) {
            self.requests.insert(place, request);
        }
    }

    fn waiting(&self) -> Option<Timestamp> {
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
    fn clock(&self) -> u64 {
        match self {
            Message::Request { stamp } => stamp.clock,
            Message::Reply { clock } | Message::Release { clock, .. } => *clock,
        }
    }
}

/// Access to the logical clock, so that messages of the application can carry it too.
impl ExposesLogicalClock for Lamport {
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
        let saves = config.has(VariantId::SuppressedReplies);
        Card {
            order: ChannelOrder::Fifo,
            faults: ToleratedFaults::duplication_only(
                "needs a reply and a release from every process: no crash, no loss",
            ),
            messages: MessageCost::per_entry(
                if saves { "2(N−1) … 3(N−1)" } else { "3(N−1)" },
                if saves { 2 * peers } else { 3 * peers },
                Some(3 * peers),
            ),
            theory: Some(ExpectedCosts::lock(
                ["2", "2", "if users forward its clock"],
                HopRange::ONE,
            )),
            variants: Variants::<VariantId>::declarations(),
            ..Card::mutex(
                "lamport",
                "every process keeps the queue of all requests",
                "Lamport, CACM 21(7), 1978",
            )
            .with_promises([Property::FirstComeFirstServed])
        }
    }

    fn predicted_messages(config: &Config, size: u32, _: WorkloadKind) -> Option<Prediction> {
        let saves = config.has(VariantId::SuppressedReplies);
        let precision = if saves { PredictionKind::Most } else { PredictionKind::Exact };
        Some(Prediction::new(precision, 3 * u64::from(size - 1)))
    }

    fn can_shift_timestamps(_: &Config) -> bool {
        true
    }

    fn smallest_timestamp(&self) -> Option<u64> {
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

    fn lower_timestamps(&mut self, by: u64) {
        self.clock.0 -= by;
        self.requests.iter_mut().for_each(|request| request.clock -= by);
        match &mut self.phase {
            Phase::Waiting { request, .. } | Phase::Inside { request } => request.clock -= by,
            Phase::Idle => {}
        }
    }

    fn smallest_message_timestamp(config: &Config, message: &Message) -> Option<u64> {
        if !Rules(*config).orders_by_clock() {
            return None;
        }
        Some(match message {
            Message::Release { clock, request } => request.clock.min(*clock),
            Message::Request { .. } | Message::Reply { .. } => message.clock(),
        })
    }

    fn lower_message_timestamps(_: &Config, message: &mut Message, by: u64) {
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
