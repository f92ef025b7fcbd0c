//! A lease: a lock that ends by itself, at the holder before it does at whoever granted it.
//!
//! C. Gray, D. Cheriton, *Leases: an efficient fault-tolerant mechanism for distributed file cache
//! consistency*, SOSP 1989. Theirs protect what a cache has read; this one is exclusive, as are the
//! ephemeral locks of lock services. One process grants.
//!
//! | | |
//! |---|---|
//! | assumes | clock rates within 5 %, and nobody stopped; any delays, losses, crashes |
//! | messages per entry | 3; none at the grantor; 2 more for who had to wait, and 2 a renewal |
//! | delay to enter, uncontended | 2 messages |
//! | delay from exit to the next entry | 4 messages |
//! | delay from a crash inside to the next entry | what is left of the grant, and 3 messages |
//!
//! **Why it is right.** A grant lasts, at the holder, for a lease from the moment at which it
//! *asked*; at the grantor, for longer, from the moment at which it *answered*. The answer comes
//! after the question, whatever messages do, so the holder is out before anybody else is let in, as
//! long as no clock is so fast or slow that the longer time ends first. No message is needed for
//! that, and none that is late does harm: a grant names the question that it answers, and the
//! holder's time runs from there. Whoever is inside asks again before its time is over, which
//! renews it, and whose questions or answers are lost is out when the last one that was answered is
//! over: it is told so, unasked. A grantor that comes back grants nothing for as long as a grant of
//! an earlier life may last. It need not have saved any.
//!
//! A grant that has waited in a queue would be as old as the question. So whoever waited is told
//! that it is its turn, and asks again; the lock is kept for it as if it held it. Questions are
//! repeated while they are not answered, so losses are made good.
//!
//! What this cannot do is to wake a process that is stopped. It believes that it is inside until
//! its timer fires, which is after it has gone on; the fence tells its late writes from those of
//! others.

mod config;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::{
    Algorithm, Card, Cost, Crashes, Effects, Faults, Fence, Fixed, Group, Knowledge, ProcessId,
    Property, Protocol, Strategy, TimerRole, Timing, Topology, labelled,
};

pub use self::config::{Config, Switch};
use super::{Claim, Desk, Questions, Side, Ticket};
use crate::Variants;

/// One process: a client, and at one of them the grantor as well.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    me: ProcessId,
    config: Fixed<Config>,
    /// The name of our last request.
    ticket: Ticket,
    phase: Phase,
    questions: Questions,
    /// Empty for ever, except at the grantor.
    desk: Desk,
    /// Whether grants of an earlier life may still last.
    closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting,
    Inside,
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "I want to enter", or "to stay".
    Request {
        /// The name of what I want.
        ticket: Ticket,
        /// Which question this is.
        round: u64,
    },
    /// "It is your turn: ask again, so that your time begins now."
    Turn {
        /// Which request it is the turn of.
        ticket: Ticket,
    },
    /// "You may, for a lease from when you asked this."
    Grant {
        /// Which request this grants.
        ticket: Ticket,
        /// Which question it answers.
        round: u64,
        /// The fence of the entry.
        fence: Fence,
    },
    /// "I have left."
    Release {
        /// Which request is over.
        ticket: Ticket,
    },
}

labelled!(
    Message, Mutex,
    Request => "request", Turn => "turn", Grant => "grant", Release => "release",
);

/// The timers of this algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// A question was asked so long ago that an answer grants nothing any more.
    Deadline(Side),
    /// The question is to be asked again.
    Renewal,
    /// At the grantor: what was granted is over, wherever it is.
    Expiry,
}

/// What survives a crash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stable {
    /// How often this process has booted: what tells its requests and fences from earlier ones.
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
    boots: u64,
}

impl Protocol for Lease {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    type Stable = Stable;

    fn boot(
        group: Group,
        config: &Config,
        stable: Option<Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        assert!(group.contains(config.grantor), "the grantor is one of the group");
        let boots = stable.map_or(0, |stable| stable.boots) + 1;
        let lease = Lease {
            me: group.me(),
            config: Fixed::new(config.clone()),
            ticket: Ticket { boot: boots, number: 0 },
            phase: Phase::Idle,
            questions: Questions::default(),
            desk: Desk::default(),
            closed: boots > 1
                && config.grantor == group.me()
                && !config.variants.has(Switch::ForgottenGrants),
        };
        if lease.closed {
            fx.set_timer(Timer::Expiry, config.times.expiry);
        }
        lease
    }

    fn stable(&self) -> Stable {
        Stable { boots: self.ticket.boot }
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match (command, self.phase) {
            (Command::Enter, Phase::Idle) => {
                self.ticket.number += 1;
                self.phase = Phase::Waiting;
                self.ask(fx);
            }
            (Command::Enter, _) => panic!("a process asks only when idle"),
            (Command::Exit, Phase::Inside) => self.leave(fx),
            // Its time was over while the user made up their mind.
            (Command::Exit, _) => {}
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Request { ticket, round } => {
                self.on_request(Claim { process: from, ticket }, round, fx);
            }
            Message::Release { ticket } => {
                self.desk.release(Claim { process: from, ticket });
                self.call_next(fx);
            }
            Message::Turn { ticket } if self.wants(ticket) => {
                if self.phase == Phase::Waiting {
                    self.ask(fx);
                }
            }
            Message::Grant { ticket, round, fence } if self.wants(ticket) => {
                self.on_grant(round, fence, fx);
            }
            // Of a request that is over: the lock is kept for nobody.
            Message::Turn { ticket } | Message::Grant { ticket, .. } => {
                self.tell(from, Message::Release { ticket }, fx);
            }
        }
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Deadline(side) => {
                if self.questions.is_over(side) {
                    self.leave(fx);
                }
            }
            Timer::Renewal => self.ask(fx),
            Timer::Expiry => {
                self.closed = false;
                if let Some(holder) = self.desk.holder() {
                    self.desk.release(holder);
                }
                self.call_next(fx);
            }
        }
    }

    fn timer_role(timer: &Timer) -> TimerRole {
        match timer {
            Timer::Deadline(_) => TimerRole::EndsClaim,
            _ => TimerRole::Plain,
        }
    }
}

/// The client.
impl Lease {
    /// Asks, for the first time or again. Our time runs from now, if this is answered.
    fn ask(&mut self, fx: &mut impl Effects<Self>) {
        let times = self.config.times;
        let (side, round) = self.questions.ask(times.rounds);
        fx.set_timer(Timer::Deadline(side), self.config.held());
        fx.set_timer(Timer::Renewal, times.renewal);
        let request = Message::Request { ticket: self.ticket, round };
        self.tell(self.config.grantor, request, fx);
    }

    /// A question is answered: we are inside by that, if it is the last one and not too old.
    fn on_grant(&mut self, round: u64, fence: Fence, fx: &mut impl Effects<Self>) {
        let Some((side, before)) = self.questions.answered(round) else { return };
        if let Some(before) = before {
            fx.cancel_timer(Timer::Deadline(before));
        }
        if self.phase == Phase::Waiting {
            self.phase = Phase::Inside;
            fx.emit(Event::Entered { fence });
        }
        if self.has(Switch::DeadlineFromAnswer) {
            fx.set_timer(Timer::Deadline(side), self.config.held());
        }
    }

    /// Leaves, asked or because our time is over.
    fn leave(&mut self, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Idle;
        self.questions.end();
        for timer in [Timer::Deadline(Side::Left), Timer::Deadline(Side::Right), Timer::Renewal] {
            fx.cancel_timer(timer);
        }
        fx.emit(Event::Exited);
        self.tell(self.config.grantor, Message::Release { ticket: self.ticket }, fx);
    }

    fn wants(&self, ticket: Ticket) -> bool {
        ticket == self.ticket && self.phase != Phase::Idle
    }

    /// Sends a message; by a local call where it is to ourselves.
    fn tell(&mut self, to: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        if to == self.me {
            self.on_message(to, message, fx);
        } else {
            fx.send(to, message);
        }
    }
}

/// The grantor.
impl Lease {
    /// Answers whoever holds, or is the next to; others wait.
    fn on_request(&mut self, claim: Claim, round: u64, fx: &mut impl Effects<Self>) {
        let renews = self.desk.holder() == Some(claim);
        self.desk.ask(claim);
        if self.closed {
            return;
        }
        if let Some((next, _)) = self.desk.grant()
            && next != claim
        {
            self.call(next, fx);
        }
        if self.desk.holder() == Some(claim) {
            if !renews || !self.has(Switch::RenewalIgnored) {
                fx.set_timer(Timer::Expiry, self.config.kept());
            }
            let fence = Fence(self.ticket.boot, self.desk.granted());
            let grant = Message::Grant { ticket: claim.ticket, round, fence };
            self.tell(claim.process, grant, fx);
        }
    }

    /// The next who waits, once nobody holds.
    fn call_next(&mut self, fx: &mut impl Effects<Self>) {
        if self.closed || self.desk.holder().is_some() {
            return;
        }
        match self.desk.grant() {
            Some((next, _)) => self.call(next, fx),
            None => fx.cancel_timer(Timer::Expiry),
        }
    }

    /// Keeps the lock for somebody who has waited, for as long as if it had been granted.
    fn call(&mut self, next: Claim, fx: &mut impl Effects<Self>) {
        fx.set_timer(Timer::Expiry, self.config.kept());
        self.tell(next.process, Message::Turn { ticket: next.ticket }, fx);
    }

    fn has(&self, switch: Switch) -> bool {
        self.config.variants.has(switch)
    }
}

impl Algorithm for Lease {
    fn card(config: &Config, size: u32) -> Card {
        let formula = "3 (0 at the grantor), and 2 for who waited or a renewal";
        Card {
            strategy: Strategy::Centralised,
            timing: Timing::Synchronous,
            faults: Faults {
                loss: true,
                crashes: Crashes::Recovery,
                ..Faults::duplication(
                    "goes on when a process that waits or is inside crashes or is cut off; stops \
                     while the grantor is down",
                )
            },
            topology: Topology::Star,
            knows: Knowledge::UNIFORM,
            messages: Cost::per_entry(formula, 0, None).none_alone(size).in_part(),
            promises: [].into(),
            clocked: [Property::MutualExclusion, Property::Fencing].into(),
            drift_ppm: config.times.drift_ppm(),
            timeouts: config.times.timeouts().into(),
            variants: Variants::<Switch>::declared(),
            ..Card::mutex(
                "lease",
                "a lock that ends by itself unless it is renewed, at the holder first",
                "Gray & Cheriton, SOSP, 1989",
            )
        }
    }
}
