//! Ricart–Agrawala mutual exclusion: ask everyone, defer whoever comes after you.
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
//! **Why it is right.** Take two requests. Each process gets the other's request, and of the
//! two the one with the larger stamp cannot be answered by the other process before that one
//! has left. A request made after another was *seen* has the larger stamp, because receiving
//! a request advances the clock; so a process that has already answered cannot come back with
//! a smaller one. The stamps are totally ordered, hence the smallest waits for nobody, and
//! whoever waits has finitely many before it.
//!
//! Two things go beyond the paper's text. A reply names the request that it answers, so that
//! a late duplicate cannot serve the next one; and it carries the replier's clock, without
//! which a request that happened after another could get the smaller stamp.
//! The variant `reference` is the algorithm of 1981 without either. (What the application says
//! is in no clock: a request that was made because of it may still get the smaller stamp.)

use alloc::vec::Vec;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{Expected, Hops, Precision, Scene, Theory};
use tenure_core::{
    Algorithm, Card, Cost, Effects, Faults, Fence, Group, LamportClock, Never, ProcessId,
    ProcessSet, Property, Protocol, Stamp, Stamped, labelled,
};

use crate::Variants;
use crate::catalogue::{Configured, Parameters, Unknown};
use crate::variants::{switches, tolerant};

/// One process of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RicartAgrawala {
    group: Group,
    variants: Variants<Switch>,
    /// `Highest_Sequence_Number`: the highest clock sent or seen.
    clock: LamportClock,
    phase: Phase,
    /// `Reply_Deferred`: the requests to which we owe a reply, in their order.
    deferred: Vec<Stamp>,
}

/// Where this process stands: `Requesting_Critical_Section` and what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting {
        /// `Our_Sequence_Number`, with our name.
        request: Stamp,
        /// `Outstanding_Reply_Count`, by name.
        awaited: ProcessSet,
    },
    Inside {
        /// The request that was granted.
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
    /// "As far as I am concerned, you may."
    Reply {
        /// The clock of the request that this answers.
        to: u64,
        /// The replier's clock.
        clock: u64,
    },
}

labelled!(Message, Mutex, Request => "request", Reply => "reply");

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

switches! {
    Reference = "reference", sound,
        "as printed in 1981: replies carry neither the request's name nor a clock";
    UnstampedReply = "unstamped-reply", sound,
        "replies carry no clock: entries may leave the order of happened-before"
        => "7-R6", "-n 3 --entries 2,1,1 --channel fifo --property order";
    UntaggedReply = "untagged-reply", unsound,
        "replies do not name the request, so a duplicate may serve the next one"
        => "7-R8", "-n 2 --entries 2 --duplicate 1";
    BareCounter = "bare-counter", unsound,
        "replies are counted and neither named nor told apart by sender"
        => "7-R7", "-n 2 --entries 2 --duplicate 1";
    NoClockOnRequest = "no-clock-on-request", unsound,
        "receiving a request does not advance the clock"
        => "7-R5", "-n 2 --entries 2";
    IdsAsStamps = "ids-as-stamps", unsound,
        "requests are ordered by process alone, without a clock"
        => "7-R2", "-n 3 --channel fifo";
    ClockOnlyStrict = "clock-only-strict", unsound,
        "no tie-break: of two equal clocks neither goes first, and both reply"
        => "7-R3", "-n 2";
    ClockOnlyDefer = "clock-only-defer", unsound,
        "no tie-break: of two equal clocks both go first, and both defer"
        => "7-R4", "-n 2";
    ReplyWhileInside = "reply-while-inside", unsound,
        "a request that arrives while we are inside is answered at once"
        => "", "-n 3 --entries 2 --channel fifo";
}

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
            variants: config.variants,
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
                if !self.variants.has(Switch::NoClockOnRequest) {
                    self.clock.observe(stamp.clock);
                }
                if self.precedes(stamp) {
                    self.defer(stamp);
                } else {
                    fx.send(from, self.reply_to(stamp.clock));
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
        assert!(self.phase == Phase::Idle, "a process asks only when it neither waits nor is in");
        let clock = self.clock.tick();
        let stamp = Stamp { clock: if self.orders_by_id() { 0 } else { clock }, ..self.place() };
        let awaited = self.group.peers();
        fx.broadcast(&awaited, Message::Request { stamp });
        let alone = awaited.is_empty();
        self.phase = Phase::Waiting { request: stamp, awaited };
        if alone {
            self.enter(fx);
        }
    }

    fn enter(&mut self, fx: &mut impl Effects<Self>) {
        let Phase::Waiting { request, .. } = self.phase else { return };
        let fence = Fence(request.clock, u64::from(request.process.number()));
        self.phase = Phase::Inside { request };
        fx.emit(Event::Entered { fence });
    }

    fn exit(&mut self, fx: &mut impl Effects<Self>) {
        let inside = matches!(self.phase, Phase::Inside { .. });
        assert!(inside, "only a process that is inside can leave");
        self.phase = Phase::Idle;
        let mut deferred = core::mem::take(&mut self.deferred);
        for request in deferred.drain(..) {
            fx.send(request.process, self.reply_to(request.clock));
        }
        // Emptied, but keeping its memory: entering again allocates nothing.
        self.deferred = deferred;
        fx.emit(Event::Exited);
    }

    /// Keeps a request for later; a duplicate changes nothing.
    fn defer(&mut self, request: Stamp) {
        let kept =
            if tags_replies(self.variants) { request } else { Stamp { clock: 0, ..request } };
        if let Err(place) = self.deferred.binary_search(&kept) {
            self.deferred.insert(place, kept);
        }
    }

    fn reply_to(&self, clock: u64) -> Message {
        let stamped = stamps_replies(self.variants);
        Message::Reply {
            to: if tags_replies(self.variants) { clock } else { 0 },
            clock: if stamped { self.clock.now() } else { 0 },
        }
    }

    /// Counts a reply; tells whether it was the last one awaited.
    fn receive_reply(&mut self, from: ProcessId, to: u64) -> bool {
        let tagged = tags_replies(self.variants);
        let by_name = !self.variants.has(Switch::BareCounter);
        let Phase::Waiting { request, awaited } = &mut self.phase else { return false };
        if tagged && to != request.clock {
            return false;
        }
        let counted = if by_name { Some(from) } else { awaited.smallest() };
        counted.is_some_and(|peer| awaited.remove(peer)) && awaited.is_empty()
    }

    /// Whether our own claim, if we have one, comes before `request`.
    fn precedes(&self, request: Stamp) -> bool {
        match &self.phase {
            Phase::Idle => false,
            Phase::Inside { .. } => !self.variants.has(Switch::ReplyWhileInside),
            Phase::Waiting { request: ours, .. } => {
                if self.variants.has(Switch::ClockOnlyStrict) {
                    ours.clock < request.clock
                } else if self.variants.has(Switch::ClockOnlyDefer) {
                    ours.clock <= request.clock
                } else {
                    *ours < request
                }
            }
        }
    }

    fn place(&self) -> Stamp {
        Stamp { clock: 0, process: self.group.me() }
    }

    fn orders_by_id(&self) -> bool {
        self.variants.has(Switch::IdsAsStamps)
    }
}

fn tags_replies(variants: Variants<Switch>) -> bool {
    ![Switch::UntaggedReply, Switch::BareCounter, Switch::Reference]
        .iter()
        .any(|switch| variants.has(*switch))
}

fn stamps_replies(variants: Variants<Switch>) -> bool {
    !variants.has(Switch::UnstampedReply) && !variants.has(Switch::Reference)
}

/// What the application carries besides is this clock, as with any message.
impl Stamped for RicartAgrawala {
    fn clock(&self) -> u64 {
        self.clock.now()
    }

    fn observe(&mut self, clock: u64) {
        self.clock.observe(clock);
    }
}

/// Whether a request is known by its clock wherever it is mentioned.
fn tags_requests(variants: Variants<Switch>) -> bool {
    tags_replies(variants) && !variants.has(Switch::IdsAsStamps)
}

fn for_each_stamp(
    variants: Variants<Switch>,
    message: &mut Message,
    mut each: impl FnMut(&mut u64),
) {
    match message {
        Message::Request { stamp } if !variants.has(Switch::IdsAsStamps) => each(&mut stamp.clock),
        Message::Request { .. } => {}
        Message::Reply { to, clock } => {
            if tags_requests(variants) {
                each(to);
            }
            if stamps_replies(variants) {
                each(clock);
            }
        }
    }
}

impl Algorithm for RicartAgrawala {
    fn card(config: &Config, size: u32) -> Card {
        let cost = 2 * u64::from(size - 1);
        let mut variants = Variants::<Switch>::declared();
        variants.push(tolerant("the tolerant-ricart-agrawala: nobody awaits who is suspected"));
        Card {
            faults: Faults {
                duplication: !config.variants.has(Switch::Reference),
                ..Faults::none(
                    "needs a reply from every process, so it tolerates no crash and no loss",
                )
            },
            messages: Cost::per_entry("2(N−1)", cost, Some(cost)),
            theory: Some(Theory::lock(["2", "2", "if users pass its clock on"], Hops::ONE)),
            variants,
            ..Card::mutex(
                "ricart-agrawala",
                "ask everyone, defer whoever comes after you",
                "Ricart & Agrawala, CACM 24(1), 1981",
            )
            .promising(stamps_replies(config.variants).then_some(Property::Order))
        }
    }

    fn expected(_: &Config, size: u32, _: Scene) -> Option<Expected> {
        Some(Expected::new(Precision::Exact, 2 * u64::from(size - 1)))
    }

    /// Stamps are compared with stamps only, so all may be shifted alike.
    fn rebases(_: &Config) -> bool {
        true
    }

    fn smallest_stamp(&self) -> Option<u64> {
        let request = match &self.phase {
            Phase::Waiting { request, .. } | Phase::Inside { request } => Some(request.clock),
            Phase::Idle => None,
        };
        let owed = self.deferred.iter().map(|request| request.clock);
        let requests = request.filter(|_| !self.orders_by_id());
        let owed = owed.filter(|_| tags_requests(self.variants));
        requests.into_iter().chain(owed).chain([self.clock.now()]).min()
    }

    fn shift_stamps(&mut self, by: u64) {
        let (tags, by_id) = (tags_requests(self.variants), self.orders_by_id());
        self.clock.0 -= by;
        match &mut self.phase {
            Phase::Waiting { request, .. } | Phase::Inside { request } if !by_id => {
                request.clock -= by;
            }
            Phase::Waiting { .. } | Phase::Idle | Phase::Inside { .. } => {}
        }
        if tags {
            self.deferred.iter_mut().for_each(|request| request.clock -= by);
        }
    }

    fn smallest_in_message(config: &Config, message: &Message) -> Option<u64> {
        let mut smallest = None;
        for_each_stamp(config.variants, &mut message.clone(), |stamp| {
            smallest = Some(smallest.map_or(*stamp, |least: u64| least.min(*stamp)));
        });
        smallest
    }

    fn shift_message(config: &Config, message: &mut Message, by: u64) {
        for_each_stamp(config.variants, message, |stamp| *stamp -= by);
    }
}
