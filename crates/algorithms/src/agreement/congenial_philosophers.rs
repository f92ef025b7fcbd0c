//! Group mutual exclusion: each request names a forum, and processes of the same forum may be
//! inside together. A process needs a reply from every other process. A process defers its reply to
//! a later request for a different forum.
//!
//! Y.-J. Joung, *The congenial talking philosophers problem in computer networks*, Distributed
//! Computing 15(3), 2002: the first algorithm, RA1, after Ricart and Agrawala.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order, no crash |
//! | messages per session | 2(N − 1) |
//! | delay to enter, uncontended | 2 messages |
//! | delay to enter if all others want the same forum | 2 messages |
//!
//! **Why it is right.** Take two requests for different forums. As with the lock of Ricart and
//! Agrawala, one of the two processes defers its reply until its own exit. This is the process that
//! is already inside or, if none is, the process whose request has the smaller timestamp. So all
//! processes inside attend the same forum. A process answers a request for its own forum at once,
//! so processes of the same forum do not wait for each other directly. Only finitely many requests
//! precede the request of a waiting process, because receiving a request advances the clock.
//!
//! A reply names its request, so that a late duplicate of the reply does not count for the next
//! request. The deferral keeps the order of requests, but it costs concurrency. For example, one
//! process attends forum 1, a second process waits for forum 2, and a third process then requests
//! forum 1. The third process waits for the second, although forum 1 is in session.

use alloc::vec::Vec;

use tenure_core::service::forum::{Command, Event};
use tenure_core::theory::{Prediction, PredictionKind, WorkloadKind};
use tenure_core::{
    Algorithm, AlgorithmClass, Card, Effects, Group, LamportClock, MessageCost, Never, ProcessId,
    ProcessSet, Property, Protocol, Service, Timestamp, ToleratedFaults, labelled,
};

use crate::variants::{Variants, variant_ids};

/// One process. It attends at most one forum at a time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CongenialPhilosophers {
    group: Group,
    variants: Variants<VariantId>,
    clock: LamportClock,
    phase: Phase,
    /// Requests to which this process has not replied yet, in ascending order. The list contains at
    /// most one request of each peer, namely the last one.
    deferred: Vec<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting {
        forum: u64,
        request: Timestamp,
        /// Processes that have not replied.
        awaited: ProcessSet,
    },
    Inside {
        forum: u64,
    },
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Requests to attend a forum.
    Request {
        /// Timestamp of the request. A request with a smaller timestamp has precedence.
        stamp: Timestamp,
        /// Number of the forum.
        forum: u64,
    },
    /// Permits the receiver to attend its forum.
    Reply {
        /// Clock value in the timestamp of the request that this reply answers.
        to: u64,
    },
}

labelled!(Message, Agreement, Request => "request", Reply => "reply");

variant_ids! {
    OneAtATime = "one-at-a-time", sound,
        "requests for the same forum are deferred too: the lock of Ricart and Agrawala";
    RepliesInside = "replies-inside", unsound,
        "a process inside replies to requests for other forums"
        => "", "-n 2 --property session-exclusion";
    NoPriority = "no-priority", unsound,
        "a waiting process replies to every request, also to later ones"
        => "", "-n 2 --property session-exclusion";
    FrozenClock = "frozen-clock", unsound,
        "receiving a request does not advance the clock"
        => "", "-n 2 --property session-exclusion";
    DropsDeferred = "drops-deferred", unsound,
        "a process that leaves replies to the first deferred request only"
        => "", "-n 3 --property progress";
}

impl Protocol for CongenialPhilosophers {
    type Config = Variants<VariantId>;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(
        group: Group,
        variants: &Variants<VariantId>,
        _: Option<()>,
        _: &mut impl Effects<Self>,
    ) -> Self {
        CongenialPhilosophers {
            group,
            variants: *variants,
            clock: LamportClock::default(),
            phase: Phase::Idle,
            deferred: Vec::new(),
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Attend { forum } => {
                assert!(self.phase == Phase::Idle, "a process may request only when idle");
                let request = Timestamp { clock: self.clock.tick(), process: self.group.me() };
                let awaited = self.group.peers();
                fx.broadcast(&awaited, Message::Request { stamp: request, forum });
                self.phase = Phase::Waiting { forum, request, awaited };
                self.enter_if_granted(fx);
            }
            Command::Depart => {
                let is_inside = matches!(self.phase, Phase::Inside { .. });
                assert!(is_inside, "only a process inside may leave");
                self.phase = Phase::Idle;
                let most = if self.variants.has(VariantId::DropsDeferred) {
                    1
                } else {
                    self.deferred.len()
                };
                for request in core::mem::take(&mut self.deferred).into_iter().take(most) {
                    fx.send(request.process, Message::Reply { to: request.clock });
                }
                fx.emit(Event::Departed);
            }
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Request { stamp, forum } => {
                if !self.variants.has(VariantId::FrozenClock) {
                    self.clock.observe(stamp.clock);
                }
                if self.defers(stamp, forum) {
                    self.defer(stamp);
                } else {
                    fx.send(from, Message::Reply { to: stamp.clock });
                }
            }
            Message::Reply { to } => {
                if let Phase::Waiting { request, awaited, .. } = &mut self.phase
                    && to == request.clock
                {
                    awaited.remove(from);
                    self.enter_if_granted(fx);
                }
            }
        }
    }
}

impl CongenialPhilosophers {
    fn enter_if_granted(&mut self, fx: &mut impl Effects<Self>) {
        if let Phase::Waiting { forum, awaited, .. } = &self.phase
            && awaited.is_empty()
        {
            let forum = *forum;
            self.phase = Phase::Inside { forum };
            fx.emit(Event::Attending { forum });
        }
    }

    /// Returns true if this process must defer its reply to a request for `forum`. It must defer
    /// the reply in two cases: this process attends a different forum, or it waits for a different
    /// forum with a request that precedes `request`.
    fn defers(&self, request: Timestamp, forum: u64) -> bool {
        let conflicts = |ours: u64| ours != forum || self.variants.has(VariantId::OneAtATime);
        match &self.phase {
            Phase::Idle => false,
            Phase::Waiting { forum: ours, request: own, .. } => {
                conflicts(*ours) && *own < request && !self.variants.has(VariantId::NoPriority)
            }
            Phase::Inside { forum: ours } => {
                conflicts(*ours) && !self.variants.has(VariantId::RepliesInside)
            }
        }
    }

    /// Defers a request. If an older request of the same process is deferred, replaces that
    /// request. If a newer request of the same process is deferred, has no effect.
    fn defer(&mut self, request: Timestamp) {
        let known = |other: &Timestamp| other.process == request.process && *other >= request;
        if !self.deferred.iter().any(known) {
            self.deferred.retain(|other| other.process != request.process);
            self.deferred.push(request);
            self.deferred.sort_unstable();
        }
    }
}

impl Algorithm for CongenialPhilosophers {
    fn card(_: &Variants<VariantId>, size: u32) -> Card {
        let messages = 2 * u64::from(size - 1);
        Card {
            strategy: AlgorithmClass::Permission,
            faults: ToleratedFaults::duplication_only("a lost message or a crash stops all others"),
            messages: MessageCost::per_agreement("2(N−1)", messages, Some(messages)),
            variants: Variants::<VariantId>::declarations(),
            ..Card::agreement(
                Service::Forum,
                "congenial-philosophers",
                "processes of one forum are inside together: replies defer later other requests",
                "Joung, Distributed Computing 15(3), 2002 (RA1)",
            )
            .with_promises([Property::SessionExclusion])
        }
    }

    fn predicted_messages(
        _: &Variants<VariantId>,
        size: u32,
        _: WorkloadKind,
    ) -> Option<Prediction> {
        Some(Prediction::new(PredictionKind::Exact, 2 * u64::from(size - 1)))
    }
}
