//! A lock service as clients of etcd use one: a key in a queue, which ends with a session.
//!
//! The recipe is that of etcd's clients (`concurrency`, `etcdctl lock`), which is that of M.
//! Burrows,
//! *The Chubby lock service for loosely-coupled distributed systems*, OSDI 2006, with a queue; the
//! session is a lease (C. Gray, D. Cheriton, SOSP 1989). What decides here is what decides in the
//! service and in its clients: the store (`tenure-store`), the session, the waiter and the leader's
//! leases (`tenure-session`). This file carries messages between them.
//!
//! | | |
//! |---|---|
//! | assumes | clock rates within 5 %, and nobody stopped; any delays, losses, crashes |
//! | messages per entry | 5; none at the service; 4 more for who had to wait, and 2 a renewal |
//! | delay to enter, uncontended | 4 messages |
//! | delay from exit to the next entry | 4 messages |
//! | delay from a crash inside to the next entry | what is left of the lease, and 3 messages |
//!
//! **Why it is right.** Keys are in the queue in the order of the revisions that made them, and
//! only whoever has nobody ahead is inside; that revision is the fence. A key is deleted when its
//! owner leaves or its lease ends. The owner of a lease claims nothing for longer than less than
//! the lease from when it *sent* the renewal that was answered last, and the service, which took it
//! later, keeps the lease for all of it: so the owner is out before its key is gone, and another is
//! inside only after that. This holds across a change of leader, because what a new leader counts
//! from was noted when less was left, and all of it is noted again before a renewal is answered;
//! and because a renewal is answered by nobody whom a majority has not confirmed, nor while the end
//! of the lease is being written.
//!
//! **Why everybody is served.** Whoever waits watches the key that is next ahead, from the revision
//! in which it was seen, so that its deletion is noticed whenever it was; and whoever does not
//! leave is ended by its lease, of which a new leader counts only what is left.
//!
//! **What of a lock service is judged here**, and by which property:
//!
//! - `mutual-exclusion`: by the log one is inside at most, and whoever claims to be is out
//!   before another is let in, while clocks keep time (of whoever is told to be inside, in
//!   every schedule, so that two whom the log let in are both told in some)
//! - `fencing`: the fence grows with each grant, across changes of leader
//! - `fencing`: they are let in in the order of the queue (the fence is the place in the queue)
//! - `mutual-exclusion`: nobody is let in whose session is over (who is next may be let in too)
//! - `progress`: whoever waits and lives is served, if all who are inside leave or end
//!
//! **Who is let in before that is written** (variant `early-release`). That whoever was inside has
//! left stays true, whatever becomes of the entry that says so. So the one behind them is let in
//! as soon as the service hears of it, if their own key is there, and a delay sooner: early lock
//! release, as databases have it, from the log to the next transaction.
//!
//! The service is one process here, with one log; `raft-log` is what makes it one where it is
//! several. Another of it leads when a timer says so, and when the process comes back from a crash.

mod config;
mod message;
mod rules;
mod service;

use alloc::vec::Vec;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::{
    Algorithm, Card, Cost, Crashes, Delay, Effects, Faults, Fence, Fixed, Group, Knowledge,
    ProcessId, Property, Protocol, Strategy, TimerRole, Timing, Topology,
};
use tenure_session::{Act, Lost, Seen, Session, Waiter, Wish};
use tenure_store::Store;

pub use config::{Config, Switch};
pub use message::Message;
use service::Service;
pub use tenure_session::Side;

use super::Ticket;
use crate::Variants;
use crate::drift;

/// One process: a client, and at one of them the service as well.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Leased {
    me: ProcessId,
    config: Fixed<Config>,
    /// The name of our last session.
    ticket: Ticket,
    /// What we want, while we want something.
    claim: Option<Claim>,
    service: Option<Service>,
}

/// A session, and the wait in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Claim {
    session: Session,
    waiter: Waiter<u64>,
}

/// The timers of this algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// Of a client: what was answered to the question of that side may no longer be claimed.
    Deadline(Side),
    /// Of a client: the session is to be renewed.
    Renewal,
    /// Of the service: a part of a lease is over.
    Part(u64),
    /// Of the service: the end of a lease is written.
    Commit(u64),
    /// Of the service: another of it leads.
    Change,
}

/// What survives a crash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stable {
    /// How often this process has booted: what tells its sessions from earlier ones.
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
    boots: u64,
    /// Of the service: what its log has made.
    store: Option<Store>,
}

impl Protocol for Leased {
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
        assert!(group.contains(config.service), "the service is one of the group");
        let Stable { boots, store } = stable.unwrap_or(Stable { boots: 0, store: None });
        let serves = config.service == group.me();
        let store = serves.then(|| store.unwrap_or_else(service::empty));
        let mut leased = Leased {
            me: group.me(),
            config: Fixed::new(config.clone()),
            ticket: Ticket { boot: boots + 1, number: 0 },
            claim: None,
            service: store.map(|store| Service::of(store, 0)),
        };
        leased.take_office(fx);
        leased
    }

    fn stable(&self) -> Stable {
        let store = self.service.as_ref().map(|service| service.store.clone());
        Stable { boots: self.ticket.boot, store }
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match (command, &mut self.claim) {
            (Command::Enter, None) => self.begin(fx),
            (Command::Enter, Some(_)) => panic!("a process asks only when idle"),
            (Command::Exit, Some(claim)) => {
                let acts = claim.session.close();
                self.act(acts, fx);
            }
            // Its session was over while the user made up their mind.
            (Command::Exit, None) => {}
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Open { ticket, round } => self.on_open(from, ticket, round, fx),
            Message::Renew { ticket, round } => self.on_renew(from, ticket, round, fx),
            Message::Look { ticket, at } => self.on_look(from, ticket, at, fx),
            Message::Watch { ticket, key, from: revision } => {
                self.on_watch(from, ticket, key, revision, fx);
            }
            Message::Release { ticket, was_inside } => {
                self.on_release(from, ticket, was_inside, fx);
            }
            Message::Released { ticket, key } => {
                if let Some(claim) = self.claim_of(ticket) {
                    let wish = claim.waiter.released(&key);
                    self.grant(wish, fx);
                }
            }
            Message::Alive { ticket, round } => {
                if let Some(claim) = self.claim_of(ticket) {
                    let acts = claim.session.answered(round);
                    self.act(acts, fx);
                    self.count_from_answer(fx);
                }
            }
            Message::Gone { ticket } => self.on_gone(ticket, fx),
            Message::Place { ticket, revision, own, ahead } => {
                if let Some(claim) = self.claim_of(ticket)
                    && claim.session.is_alive()
                {
                    let wish = claim.waiter.seen(Seen { revision, own, ahead });
                    self.grant(wish, fx);
                }
            }
            Message::Deleted { ticket, key, revision } => {
                if let Some(claim) = self.claim_of(ticket) {
                    let wish = claim.waiter.deleted(&key, revision);
                    self.grant(wish, fx);
                }
            }
        }
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Part(lease) => self.on_part(lease, fx),
            Timer::Commit(lease) => self.on_commit(lease, fx),
            Timer::Change => self.change_leader(fx),
            Timer::Deadline(side) => {
                self.on_session_timer(tenure_session::Timer::Deadline(side), fx)
            }
            Timer::Renewal => {
                self.on_session_timer(tenure_session::Timer::Renewal, fx);
                // What was asked may be lost, or whoever was asked may be.
                let waits = self.claim.filter(|claim| claim.session.is_alive());
                self.grant(waits.and_then(|claim| claim.waiter.again()), fx);
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
impl Leased {
    /// Begins a session.
    fn begin(&mut self, fx: &mut impl Effects<Self>) {
        self.ticket.number += 1;
        let mut session = Session::new(self.config.rounds);
        let acts = session.renew(&self.config.times);
        self.claim = Some(Claim { session, waiter: Waiter::new() });
        self.act(acts, fx);
    }

    fn claim_of(&mut self, ticket: Ticket) -> Option<&mut Claim> {
        self.claim.as_mut().filter(|_| ticket == self.ticket)
    }

    fn is_inside(&self) -> bool {
        self.claim.is_some_and(|claim| claim.waiter.fence().is_some())
    }

    fn on_session_timer(&mut self, timer: tenure_session::Timer, fx: &mut impl Effects<Self>) {
        let deaf = !self.minds_its_session() && !self.is_inside();
        if deaf && timer != tenure_session::Timer::Renewal {
            return;
        }
        let times = self.config.times;
        if let Some(claim) = &mut self.claim {
            let acts = claim.session.fired(timer, &times);
            self.act(acts, fx);
        }
    }

    fn on_gone(&mut self, ticket: Ticket, fx: &mut impl Effects<Self>) {
        let deaf = !self.minds_its_session() && !self.is_inside();
        if let Some(claim) = self.claim_of(ticket)
            && !deaf
        {
            let acts = claim.session.gone();
            self.act(acts, fx);
        }
    }

    /// Does what the session wants done.
    fn act(&mut self, acts: Vec<Act>, fx: &mut impl Effects<Self>) {
        let (service, ticket) = (self.config.service, self.ticket);
        for act in acts {
            match act {
                Act::Arm(timer, after) => fx.set_timer(timer.into(), Delay::ticks(after)),
                Act::Disarm(timer) => fx.cancel_timer(timer.into()),
                Act::Alive => self.tell(service, Message::Look { ticket, at: 0 }, fx),
                Act::Lost(why) => self.lost(why, fx),
                Act::Ask { round } => {
                    let lives = self.claim.is_some_and(|claim| claim.session.is_alive());
                    let question = match lives {
                        true => Message::Renew { ticket, round },
                        false => Message::Open { ticket, round },
                    };
                    self.tell(service, question, fx);
                }
            }
        }
    }

    /// The session is over: whoever is inside is out, and whoever waits begins anew.
    fn lost(&mut self, why: Lost, fx: &mut impl Effects<Self>) {
        let (inside, ticket) = (self.is_inside(), self.ticket);
        self.claim = None;
        if inside || why == Lost::Closed {
            fx.emit(Event::Exited);
        }
        let release = Message::Release { ticket, was_inside: inside };
        self.tell(self.config.service, release, fx);
        if !inside && why != Lost::Closed {
            self.begin(fx);
        }
    }

    /// Does what the wait in the queue needs.
    fn grant(&mut self, wish: Option<Wish<u64>>, fx: &mut impl Effects<Self>) {
        let (service, ticket) = (self.config.service, self.ticket);
        match wish {
            None => {}
            Some(Wish::Enter { fence }) => fx.emit(Event::Entered { fence: Fence(0, fence) }),
            // The oldest that will do, as a member may have come no further.
            Some(Wish::Look { since: at }) => self.tell(service, Message::Look { ticket, at }, fx),
            Some(Wish::Watch { key, from }) => {
                let from = self.watched_from(from);
                self.tell(service, Message::Watch { ticket, key, from }, fx);
            }
            Some(Wish::Gone) => self.on_gone(ticket, fx),
        }
    }

    /// The mistake: what is answered is counted from now on.
    fn count_from_answer(&mut self, fx: &mut impl Effects<Self>) {
        if self.has(Switch::DeadlineFromAnswer) && self.claim.is_some() {
            let after = Delay::ticks(self.config.times.claim);
            if let Some(side) = self.claim.and_then(|claim| claim.session.lives_by()) {
                fx.set_timer(Timer::Deadline(side), after);
            }
        }
    }

    /// Sends a message; by a local call where it is to ourselves.
    fn tell(&mut self, to: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        if to == self.me {
            self.on_message(to, message, fx);
        } else {
            fx.send(to, message);
        }
    }

    fn has(&self, switch: Switch) -> bool {
        self.config.variants.has(switch)
    }
}

impl From<tenure_session::Timer> for Timer {
    fn from(timer: tenure_session::Timer) -> Self {
        match timer {
            tenure_session::Timer::Deadline(side) => Timer::Deadline(side),
            tenure_session::Timer::Renewal => Timer::Renewal,
        }
    }
}

impl Algorithm for Leased {
    fn card(config: &Config, size: u32) -> Card {
        let formula = "5 (0 at the service), 4 more for who waited, and 2 for a renewal";
        Card {
            strategy: Strategy::Centralised,
            timing: Timing::Synchronous,
            faults: Faults {
                loss: true,
                crashes: Crashes::Recovery,
                ..Faults::duplication(
                    "goes on when a process that waits or is inside crashes or is cut off, and \
                     when another of the service leads; stops while the service is down",
                )
            },
            topology: Topology::Star,
            knows: Knowledge::UNIFORM,
            messages: Cost::per_entry(formula, 0, None).none_alone(size).in_part(),
            promises: [].into(),
            clocked: [Property::MutualExclusion, Property::Fencing].into(),
            drift_ppm: drift::tolerated(config.times.claim, config.times.ttl),
            variants: Variants::<Switch>::declared(),
            ..Card::mutex(
                "leased",
                "the queue of a lock service, whose keys end with the sessions of their owners",
                "Burrows, OSDI, 2006",
            )
        }
    }
}
