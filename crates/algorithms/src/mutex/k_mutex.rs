//! Raymond's k-mutex: a process asks all others, and enters when all but k − 1 of them have
//! replied.
//!
//! K. Raymond, *A distributed algorithm for multiple entries to a critical section*,
//! Information Processing Letters 30(4), 1989.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order, at most k − 1 crashes |
//! | messages per entry | 2N − k − 1 to 2(N − 1): N − 1 requests, at least N − k replies |
//! | delay to enter, uncontended | 2 messages |
//! | delay from exit to the next entry | 1 message |
//!
//! **Why it is right.** Suppose that k + 1 processes are inside, and *p* is the one with the
//! largest timestamp. When *p* entered, at most k − 1 replies were missing. So at least one of the
//! other k processes inside, *q*, had replied to *p*. If *q* had already made its own, smaller
//! request, *q* would have deferred the reply. If *q* had made its request after the reply, the
//! timestamp of *q* would be larger than that of *p*. Both cases contradict the assumption. The
//! waiting request with the smallest timestamp is deferred only by processes inside. While fewer
//! than k processes are inside, this request gets the N − k replies that it needs.
//!
//! Up to k − 1 replies arrive after the entry, or after the exit. A reply therefore names its
//! request, and a surplus reply is dropped. A new request of a process supersedes its older ones,
//! so only the last request of each peer is deferred. With k = 1 this is the algorithm of Ricart
//! and Agrawala. Several processes may be inside at the same time, so an entry has no fence. A
//! crashed process occupies one of the k places forever.

use core::num::NonZeroU32;

use alloc::format;
use alloc::vec::Vec;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{ExpectedCosts, HopRange};
use tenure_core::{
    Algorithm, Card, Effects, Fence, Group, LamportClock, MessageCost, Never, ProcessId,
    ProcessSet, Property, Protocol, Timestamp, ToleratedFaults, labelled,
};

use crate::Variants;
use crate::catalogue_error::CatalogueError;
use crate::parameters::{FromParameters, Parameters};
use crate::variants::variant_ids;

/// One process of Raymond's k-mutex.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KMutex {
    group: Group,
    /// Upper bound *k* on the number of processes inside the critical section at the same time.
    max_inside: u32,
    variants: Variants<VariantId>,
    clock: LamportClock,
    phase: Phase,
    /// For each peer to which this process owes a reply: the last request of the peer. The list is
    /// in the order of the timestamps.
    deferred: Vec<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting {
        request: Timestamp,
        /// Processes that have not replied. This process enters the critical section when this set
        /// contains at most k − 1 processes.
        awaited: ProcessSet,
    },
    Inside,
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
        /// Clock of the request that this reply answers. 0 with the variant `untagged-reply`.
        to: u64,
    },
}

labelled!(Message, Mutex, Request => "request", Reply => "reply");

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config {
    /// Upper bound *k* on the number of processes inside the critical section at the same time.
    pub max_inside: NonZeroU32,
    /// Variants that are switched on.
    pub variants: Variants<VariantId>,
}

impl Config {
    /// Returns a configuration for at most `max_inside` processes inside the critical section,
    /// without variants.
    pub fn with_max_inside(max_inside: NonZeroU32) -> Self {
        Config { max_inside, variants: Variants::none() }
    }
}

impl FromParameters for Config {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        Ok(Config { max_inside: parameters.max_processes_inside, variants: parameters.variants()? })
    }
}

variant_ids! {
    UntaggedReply = "untagged-reply", unsound,
        "replies do not name the request, so a surplus one serves the next"
        => "", "-n 3 --entries 2,1,1 --property at-most-k";
}

impl Protocol for KMutex {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        KMutex {
            group,
            max_inside: config.max_inside.get(),
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
                self.clock.observe(stamp.clock);
                if self.precedes(stamp) {
                    self.defer(stamp);
                } else {
                    fx.send(from, self.reply_to(stamp));
                }
            }
            Message::Reply { to } => {
                if let Phase::Waiting { request, awaited } = &mut self.phase
                    && (to == request.clock || self.variants.has(VariantId::UntaggedReply))
                {
                    awaited.remove(from);
                    self.enter_if_granted(fx);
                }
            }
        }
    }
}

impl KMutex {
    fn request(&mut self, fx: &mut impl Effects<Self>) {
        assert!(self.phase == Phase::Idle, "a process may request only when idle");
        let request = Timestamp { clock: self.clock.tick(), process: self.group.me() };
        let awaited = self.group.peers();
        fx.broadcast(&awaited, Message::Request { stamp: request });
        self.phase = Phase::Waiting { request, awaited };
        self.enter_if_granted(fx);
    }

    fn enter_if_granted(&mut self, fx: &mut impl Effects<Self>) {
        if matches!(&self.phase, Phase::Waiting { awaited, .. } if awaited.len() < self.max_inside)
        {
            self.phase = Phase::Inside;
            fx.emit(Event::Entered { fence: Fence::NONE });
        }
    }

    fn exit(&mut self, fx: &mut impl Effects<Self>) {
        assert!(self.phase == Phase::Inside, "only a process inside may exit");
        self.phase = Phase::Idle;
        for request in core::mem::take(&mut self.deferred) {
            fx.send(request.process, self.reply_to(request));
        }
        fx.emit(Event::Exited);
    }

    /// Defers a request. If an older request of the same process is deferred, the new request
    /// replaces it. Does nothing if this request or a newer request of the process is already
    /// deferred.
    fn defer(&mut self, request: Timestamp) {
        let known = |other: &Timestamp| other.process == request.process && *other >= request;
        if !self.deferred.iter().any(known) {
            self.deferred.retain(|other| other.process != request.process);
            self.deferred.push(request);
            self.deferred.sort_unstable();
        }
    }

    fn reply_to(&self, request: Timestamp) -> Message {
        let untagged = self.variants.has(VariantId::UntaggedReply);
        Message::Reply { to: if untagged { 0 } else { request.clock } }
    }

    /// Returns true if this process is inside the critical section, or waits for it with a request
    /// that precedes `request`.
    fn precedes(&self, request: Timestamp) -> bool {
        match &self.phase {
            Phase::Idle => false,
            Phase::Inside => true,
            Phase::Waiting { request: ours, .. } => *ours < request,
        }
    }
}

impl Algorithm for KMutex {
    fn card(config: &Config, size: u32) -> Card {
        let max_inside = config.max_inside.get();
        let needed = u64::from(size.saturating_sub(max_inside));
        let others = u64::from(size - 1);
        let safe = match max_inside {
            1 => Property::MutualExclusion,
            most => Property::KExclusion(most),
        };
        Card {
            faults: ToleratedFaults::duplication_only(
                "each crash takes one of the k places, so k crashes stop it; no loss",
            )
            .with_crashes(max_inside - 1),
            messages: MessageCost::per_entry("2N−k−1 … 2(N−1)", others + needed, Some(2 * others)),
            theory: Some(ExpectedCosts::lock(["2", "not known", "not known"], HopRange::ONE)),
            promises: [safe, Property::StarvationFreedom].into(),
            variants: Variants::<VariantId>::declarations(),
            ..Card::mutex(
                "k-mutex",
                format!("enter after N−k replies: at most {max_inside} inside"),
                "Raymond, Information Processing Letters 30(4), 1989",
            )
        }
    }
}
