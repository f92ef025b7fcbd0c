//! Ricart–Agrawala mutual exclusion: ask every process, and defer later requests.
//!
//! G. Ricart, A. K. Agrawala, *An optimal algorithm for mutual exclusion in computer
//! networks*, CACM 24(1), 1981.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order, no crash |
//! | messages per entry | 2(N − 1) |
//! | delay to enter, uncontended | 2 messages |
//! | delay from exit to the next entry | 1 message |
//!
//! **Why it is right.** Take the requests of two processes. Each process receives the request of
//! the other. The process whose request has the smaller timestamp replies only after its own exit.
//! A process that receives a request advances its clock to at least the clock of the request, so
//! its next request has a larger timestamp. Hence a process that has already replied cannot make a
//! request that precedes the answered one. Timestamps are totally ordered, so the process with the
//! smallest timestamp waits only for processes inside, and only finitely many requests precede each
//! request.
//!
//! Two things go beyond the paper. First, a reply names the request that it answers, so a late
//! duplicate of a reply cannot answer the next request. Second, a reply carries the sender's clock.
//! Without this clock, a request that happened after another could get the smaller timestamp. The
//! variant `reference` omits both: it is the algorithm of 1981.
//!
//! Messages between applications do not advance the clock. Suppose that a user requests entry and
//! then sends a message, and the receiver of the message requests entry as well. The second request
//! may still get the smaller timestamp. To prevent this, application messages can carry the clock
//! ([`ExposesLogicalClock`]).

mod rules;

use alloc::vec::Vec;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{ExpectedCosts, HopRange, Prediction, PredictionKind, WorkloadKind};
use tenure_core::{
    Algorithm, Card, Effects, ExposesLogicalClock, Fence, Group, LamportClock, MessageCost, Never,
    ProcessId, ProcessSet, Property, Protocol, Timestamp, ToleratedFaults, labelled,
};

use rules::Rules;
pub use rules::VariantId;

use crate::Variants;
use crate::variants::fault_tolerant_variant;

/// One process of the algorithm of Ricart and Agrawala.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RicartAgrawala {
    group: Group,
    variants: Variants<VariantId>,
    /// Highest clock that this process has sent or received (`Highest_Sequence_Number` in the
    /// paper).
    clock: LamportClock,
    phase: Phase,
    /// Requests to which this process replies when it exits the critical section, in the order of
    /// their timestamps (`Reply_Deferred` in the paper).
    deferred: Vec<Timestamp>,
}

/// State of this process's request for the critical section. The paper stores it in the boolean
/// `Requesting_Critical_Section`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting {
        /// This process's latest request: its sequence number (`Our_Sequence_Number` in the paper)
        /// with the id of the process.
        request: Timestamp,
        /// Peers that have not replied. The paper only counts them, in `Outstanding_Reply_Count`.
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
    /// Permits the receiver to enter the critical section.
    Reply {
        /// Clock of the request that this reply answers. 0 with a variant in which replies do not
        /// name the request.
        to: u64,
        /// Clock of the sender. 0 with a variant in which replies carry no clock.
        clock: u64,
    },
}

labelled!(Message, Mutex, Request => "request", Reply => "reply");

/// Configuration of one process: the variants that are switched on.
pub type Config = Variants<VariantId>;

impl Protocol for RicartAgrawala {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        RicartAgrawala {
            group,
            variants: *config,
            clock: LamportClock::default(),
            phase: Phase::Idle,
            deferred: Vec::new(),
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
        match message {
            Message::Request { stamp } => {
                self.rules().advance_clock(&mut self.clock, stamp);
                if self.precedes(stamp) {
                    self.defer(stamp);
                } else {
                    fx.send(from, self.reply_to(stamp));
                }
            }
            Message::Reply { to, clock } => {
                self.clock.observe(clock);
                if self.receive_reply(from, to) {
                    self.enter(fx);
                }
            }
        }
    }
}

impl RicartAgrawala {
    fn request(&mut self, fx: &mut impl Effects<Self>) {
        assert!(self.phase == Phase::Idle, "a process may request only when idle");
        let request = self.rules().request_timestamp(self.clock.tick(), self.group.me());
        let awaited = self.group.peers();
        fx.broadcast(&awaited, Message::Request { stamp: request });
        let alone = awaited.is_empty();
        self.phase = Phase::Waiting { request, awaited };
        if alone {
            self.enter(fx);
        }
    }

    fn enter(&mut self, fx: &mut impl Effects<Self>) {
        let Phase::Waiting { request, .. } = self.phase else { return };
        let fence = Fence(request.clock, u64::from(request.process.display_number()));
        self.phase = Phase::Inside { request };
        fx.emit(Event::Entered { fence });
    }

    fn exit(&mut self, fx: &mut impl Effects<Self>) {
        let inside = matches!(self.phase, Phase::Inside { .. });
        assert!(inside, "only a process inside may exit");
        self.phase = Phase::Idle;
        let mut deferred = core::mem::take(&mut self.deferred);
        for request in &deferred {
            fx.send(request.process, self.reply_to(*request));
        }
        if self.rules().forgets_answered_requests() {
            deferred.clear();
        }
        // Keeps the allocation of the list, so that the next entry allocates nothing.
        self.deferred = deferred;
        fx.emit(Event::Exited);
    }

    /// Adds a request to the deferred requests. Does nothing if they already contain the request.
    fn defer(&mut self, request: Timestamp) {
        let kept = self.rules().deferred_timestamp(request);
        if let Err(place) = self.deferred.binary_search(&kept) {
            self.deferred.insert(place, kept);
        }
    }

    fn reply_to(&self, request: Timestamp) -> Message {
        self.rules().create_reply(request, self.clock.now())
    }

    /// Records a reply of the process `from` to the request with the clock `to`. Returns true if it
    /// was the last awaited reply. Returns false if this process does not wait, or if the reply
    /// answers an older request.
    fn receive_reply(&mut self, from: ProcessId, to: u64) -> bool {
        let rules = self.rules();
        let Phase::Waiting { request, awaited } = &mut self.phase else { return false };
        rules.answers_own_request(to, *request)
            && rules.record_reply(from, awaited)
            && awaited.is_empty()
    }

    /// Returns true if this process must defer `request`, because it is inside the critical
    /// section, or waits for it with a request that precedes `request`.
    fn precedes(&self, request: Timestamp) -> bool {
        match &self.phase {
            Phase::Idle => false,
            Phase::Waiting { request: ours, .. } => self.rules().precedes(*ours, request),
            Phase::Inside { .. } => self.rules().defers_while_inside(),
        }
    }

    fn rules(&self) -> Rules {
        Rules(self.variants)
    }
}

/// Access to the logical clock, so that messages of the application can carry it too.
impl ExposesLogicalClock for RicartAgrawala {
    fn clock(&self) -> u64 {
        self.clock.now()
    }

    fn observe(&mut self, clock: u64) {
        self.clock.observe(clock);
    }
}

impl Algorithm for RicartAgrawala {
    fn card(config: &Config, size: u32) -> Card {
        let cost = 2 * u64::from(size - 1);
        let mut variants = Variants::<VariantId>::declarations();
        variants.push(fault_tolerant_variant(
            "the tolerant-ricart-agrawala: suspected processes are not awaited",
        ));
        Card {
            faults: ToleratedFaults {
                duplication: !config.has(VariantId::Reference),
                ..ToleratedFaults::none(
                    "needs a reply from every process, so it tolerates no crash and no loss",
                )
            },
            messages: MessageCost::per_entry("2(N−1)", cost, Some(cost)),
            theory: Some(ExpectedCosts::lock(
                ["2", "2", "if users forward its clock"],
                HopRange::ONE,
            )),
            variants,
            ..Card::mutex(
                "ricart-agrawala",
                "ask every process, and defer later requests",
                "Ricart & Agrawala, CACM 24(1), 1981",
            )
            .with_promises(
                Rules(*config).stamps_replies().then_some(Property::FirstComeFirstServed),
            )
        }
    }

    fn predicted_messages(_: &Config, size: u32, _: WorkloadKind) -> Option<Prediction> {
        Some(Prediction::new(PredictionKind::Exact, 2 * u64::from(size - 1)))
    }

    /// Returns true. The algorithm only compares timestamps with each other, so a common shift of
    /// all timestamps does not change its behaviour.
    fn can_shift_timestamps(_: &Config) -> bool {
        true
    }

    /// Resets the clock. The caller ensures that this process makes no further request, and that
    /// every other process makes at most one. The clock then occurs only in replies. The receiver
    /// of a reply has already made its request, so it does not use the clock.
    fn forget_clock(&mut self) {
        self.clock = LamportClock::default();
    }

    fn smallest_timestamp(&self) -> Option<u64> {
        let request = match &self.phase {
            Phase::Waiting { request, .. } | Phase::Inside { request } => Some(request.clock),
            Phase::Idle => None,
        };
        let owed = self.deferred.iter().map(|request| request.clock);
        let request = request.filter(|_| self.rules().orders_by_clock());
        let owed = owed.filter(|_| self.rules().keeps_request_clocks());
        request.into_iter().chain(owed).chain([self.clock.now()]).min()
    }

    fn lower_timestamps(&mut self, by: u64) {
        let rules = self.rules();
        self.clock.0 -= by;
        match &mut self.phase {
            Phase::Waiting { request, .. } | Phase::Inside { request }
                if rules.orders_by_clock() =>
            {
                request.clock -= by;
            }
            Phase::Waiting { .. } | Phase::Idle | Phase::Inside { .. } => {}
        }
        if rules.keeps_request_clocks() {
            self.deferred.iter_mut().for_each(|request| request.clock -= by);
        }
    }

    fn smallest_message_timestamp(config: &Config, message: &Message) -> Option<u64> {
        let mut smallest = None;
        Rules(*config).for_each_stamp(&mut message.clone(), |stamp| {
            smallest = Some(smallest.map_or(*stamp, |least: u64| least.min(*stamp)));
        });
        smallest
    }

    fn lower_message_timestamps(config: &Config, message: &mut Message, by: u64) {
        Rules(*config).for_each_stamp(message, |stamp| *stamp -= by);
    }
}
