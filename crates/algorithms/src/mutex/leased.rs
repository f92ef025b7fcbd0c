//! The lock of a lock service as clients of etcd use it: a queue of keys that are attached to
//! sessions.
//!
//! The recipe is that of etcd's clients (`concurrency`, `etcdctl lock`): that of M. Burrows, *The
//! Chubby lock service for loosely-coupled distributed systems*, OSDI 2006, with a queue. The
//! session is a lease (C. Gray, D. Cheriton, SOSP 1989). The decisions are made by the code of the
//! service and its clients: the store (`tenure-store`), the session, the waiter and the lessor
//! (`tenure-session`). This file carries messages between them.
//!
//! | | |
//! |---|---|
//! | assumes | clock rates within 5 %, no paused process; any delays, losses, crashes |
//! | messages per entry | 5; none at the service; 4 more for a waiter, and 2 per renewal |
//! | delay to enter, uncontended | 4 messages |
//! | delay from exit to the next entry | 4 messages |
//! | delay from a crash inside to the next entry | the rest of the lease, and 3 messages |
//!
//! **Why it is right.** Keys are queued in the order of the revisions that created them, and only
//! the owner of the first key is inside; its revision is the fence. A key is deleted when its owner
//! leaves or its lease ends. The owner claims its lease for less than its duration, measured from
//! *sending* the last answered renewal. The service received that renewal later and keeps the lease
//! for its full duration. So the owner has left before its key is deleted, and another process
//! enters only after that. This holds across a change of leader, because a new leader counts from a
//! recorded remaining time that was longer, and the full duration is recorded again before a
//! renewal is answered. A renewal is answered only by a leader confirmed by a majority, and not
//! while the end of the lease is being committed.
//!
//! **Why every process is served.** A waiter watches the key next ahead from the revision in which
//! it saw it, so no deletion is missed. A process that does not leave loses its lease, of which a
//! new leader counts only the remaining time.
//!
//! **Properties of the lock service that are checked here:**
//!
//! - `mutual-exclusion`: the log admits at most one process, and a process that claims to be inside
//!   has left before another enters, while clocks keep their rates (in every schedule, so two
//!   processes admitted by the log would both enter in one of them)
//! - `fencing`: the fence grows with each grant, across changes of leader
//! - `fencing`: grants follow the order of the queue (the fence is the position in the queue)
//! - `mutual-exclusion`: a process whose session has ended is not granted the lock (the next one
//!   may be granted it as well)
//! - `progress`: every live waiter is served, if all processes inside leave or lose their lease
//!
//! **Early release** (variant `early-release`). A process that has left remains outside, whatever
//! becomes of the log entry that records it. So the next one is granted the lock as soon as the
//! service learns of the exit, provided its own key is in the queue. This saves one delay.
//! Databases use the same idea as early lock release, from the log to the next transaction.
//!
//! The service is one process here, with one log; `raft-log` replicates it. A leader change is
//! modelled by a timer and by a restart of the process.

mod config;
mod message;
mod rules;
mod service;

use alloc::vec::Vec;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::{
    Algorithm, Card, Cost, Crashes, Delay, Effects, Faults, Fence, Group, Knowledge, ProcessId,
    Property, Protocol, SharedConfig, Strategy, TimerRole, Timing, Topology,
};
use tenure_session::{Action, LossReason, QueueView, Session, Waiter, WaiterAction};
use tenure_store::Store;

pub use config::{Config, Switch};
pub use message::Message;
use service::Service;
pub use tenure_session::Side;

use super::Ticket;
use crate::Variants;
use crate::drift;

/// One process: a client of the lock service. One of the processes is also the service.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Leased {
    me: ProcessId,
    config: SharedConfig<Config>,
    /// Identifier of the latest session of this process.
    ticket: Ticket,
    /// The session with its place in the queue; `None` while this process does not want to enter.
    claim: Option<Claim>,
    service: Option<Service>,
}

/// A session, and its waiter: the part of a client that follows the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Claim {
    session: Session,
    waiter: Waiter<u64>,
}

/// Timers of this algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// Client: deadline of the session, counted from the renewal request that started this timer.
    Deadline(Side),
    /// Client: the next renewal is due.
    Renewal,
    /// Service: a part of the lease with this ID has elapsed.
    Part(u64),
    /// Service: the log entry that ends the lease with this ID is committed.
    Commit(u64),
    /// Service: the leader changes.
    Change,
}

/// State that survives a crash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stable {
    /// Number of starts of this process. It distinguishes sessions from those before a restart.
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
    boots: u64,
    /// The store of the service; `None` at all other processes.
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
        assert!(group.contains(config.service), "the service must be in the group");
        let Stable { boots, store } = stable.unwrap_or(Stable { boots: 0, store: None });
        let is_service = config.service == group.me();
        let store = is_service.then(|| store.unwrap_or_else(service::empty));
        let mut leased = Leased {
            me: group.me(),
            config: SharedConfig::new(config.clone()),
            ticket: Ticket { boot: boots + 1, number: 0 },
            claim: None,
            service: store.map(|store| Service::of(store, 0)),
        };
        leased.start_term(fx);
        leased
    }

    fn stable(&self) -> Stable {
        let store = self.service.as_ref().map(|service| service.store.clone());
        Stable { boots: self.ticket.boot, store }
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match (command, &mut self.claim) {
            (Command::Enter, None) => self.start_session(fx),
            (Command::Enter, Some(_)) => panic!("a process may request only when idle"),
            (Command::Exit, Some(claim)) => {
                let actions = claim.session.close();
                self.execute_session(actions, fx);
            }
            // The session ended before the user's command.
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
                    let action = claim.waiter.on_released(&key);
                    self.execute_waiter(action, fx);
                }
            }
            Message::Alive { ticket, round } => {
                if let Some(claim) = self.claim_of(ticket) {
                    let actions = claim.session.on_response(round);
                    self.execute_session(actions, fx);
                    self.restart_deadline(fx);
                }
            }
            Message::Gone { ticket } => self.on_gone(ticket, fx),
            Message::Place { ticket, revision, own, ahead } => {
                if let Some(claim) = self.claim_of(ticket)
                    && claim.session.is_alive()
                {
                    let action =
                        claim.waiter.on_queue_view(QueueView { revision, own, predecessor: ahead });
                    self.execute_waiter(action, fx);
                }
            }
            Message::Deleted { ticket, key, revision } => {
                if let Some(claim) = self.claim_of(ticket) {
                    let action = claim.waiter.on_deleted(&key, revision);
                    self.execute_waiter(action, fx);
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
                // A request, or the process that received it, may be lost.
                let waits = self.claim.filter(|claim| claim.session.is_alive());
                self.execute_waiter(waits.and_then(|claim| claim.waiter.on_reconnected()), fx);
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

/// Client role: holds a session, and follows the queue.
impl Leased {
    /// Starts a session.
    fn start_session(&mut self, fx: &mut impl Effects<Self>) {
        self.ticket.number += 1;
        let mut session = Session::new(self.config.rounds);
        let actions = session.renew(&self.config.times);
        self.claim = Some(Claim { session, waiter: Waiter::new() });
        self.execute_session(actions, fx);
    }

    fn claim_of(&mut self, ticket: Ticket) -> Option<&mut Claim> {
        self.claim.as_mut().filter(|_| ticket == self.ticket)
    }

    fn is_inside(&self) -> bool {
        self.claim.is_some_and(|claim| claim.waiter.fence().is_some())
    }

    fn on_session_timer(&mut self, timer: tenure_session::Timer, fx: &mut impl Effects<Self>) {
        let ignores_end = !self.notices_session_end() && !self.is_inside();
        if ignores_end && timer != tenure_session::Timer::Renewal {
            return;
        }
        let times = self.config.times;
        if let Some(claim) = &mut self.claim {
            let actions = claim.session.on_timer(timer, &times);
            self.execute_session(actions, fx);
        }
    }

    fn on_gone(&mut self, ticket: Ticket, fx: &mut impl Effects<Self>) {
        let ignores_end = !self.notices_session_end() && !self.is_inside();
        if let Some(claim) = self.claim_of(ticket)
            && !ignores_end
        {
            let actions = claim.session.on_lease_ended();
            self.execute_session(actions, fx);
        }
    }

    /// Executes the actions that the session has returned.
    fn execute_session(&mut self, actions: Vec<Action>, fx: &mut impl Effects<Self>) {
        let (service, ticket) = (self.config.service, self.ticket);
        for action in actions {
            match action {
                Action::Arm(timer, after) => fx.set_timer(timer.into(), Delay::ticks(after)),
                Action::Disarm(timer) => fx.cancel_timer(timer.into()),
                Action::Alive => self.send(service, Message::Look { ticket, at: 0 }, fx),
                Action::Lost(reason) => self.on_session_lost(reason, fx),
                Action::Renew { round } => {
                    let is_alive = self.claim.is_some_and(|claim| claim.session.is_alive());
                    let request = match is_alive {
                        true => Message::Renew { ticket, round },
                        false => Message::Open { ticket, round },
                    };
                    self.send(service, request, fx);
                }
            }
        }
    }

    /// Handles the loss of the session: a process inside exits, and a waiting process starts a new
    /// session.
    fn on_session_lost(&mut self, reason: LossReason, fx: &mut impl Effects<Self>) {
        let (inside, ticket) = (self.is_inside(), self.ticket);
        self.claim = None;
        if inside || reason == LossReason::Closed {
            fx.emit(Event::Exited);
        }
        let release = Message::Release { ticket, was_inside: inside };
        self.send(self.config.service, release, fx);
        if !inside && reason != LossReason::Closed {
            self.start_session(fx);
        }
    }

    /// Executes the action that the waiter has returned, if any.
    fn execute_waiter(&mut self, action: Option<WaiterAction<u64>>, fx: &mut impl Effects<Self>) {
        let (service, ticket) = (self.config.service, self.ticket);
        match action {
            None => {}
            Some(WaiterAction::Acquired { fence }) => {
                fx.emit(Event::Entered { fence: Fence(0, fence) })
            }
            // The oldest acceptable revision, as a member may not have applied later ones.
            Some(WaiterAction::ReadQueue { since: at }) => {
                self.send(service, Message::Look { ticket, at }, fx)
            }
            Some(WaiterAction::Watch { key, from }) => {
                let from = self.watch_start(from);
                self.send(service, Message::Watch { ticket, key, from }, fx);
            }
            Some(WaiterAction::Removed) => self.on_gone(ticket, fx),
        }
    }

    /// Restarts the deadline from now. Only the variant that measures the deadline from the
    /// response does this.
    fn restart_deadline(&mut self, fx: &mut impl Effects<Self>) {
        if self.has(Switch::DeadlineFromAnswer) && self.claim.is_some() {
            let after = Delay::ticks(self.config.times.validity);
            if let Some(side) = self.claim.and_then(|claim| claim.session.deadline_side()) {
                fx.set_timer(Timer::Deadline(side), after);
            }
        }
    }

    /// Sends a message, or handles it directly if this process is the receiver.
    fn send(&mut self, to: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
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
        let formula = "5 (0 at the service), 4 more for a waiter, and 2 for a renewal";
        Card {
            strategy: Strategy::Centralised,
            timing: Timing::Synchronous,
            faults: Faults {
                loss: true,
                crashes: Crashes::Recovery,
                ..Faults::duplication(
                    "continues when a process that waits or is inside crashes or is partitioned, \
                     and when the leader of the service changes; stops while the service is down",
                )
            },
            topology: Topology::Star,
            knows: Knowledge::UNIFORM,
            messages: Cost::per_entry(formula, 0, None).zero_if_alone(size).in_part(),
            promises: [].into(),
            clocked: [Property::MutualExclusion, Property::Fencing].into(),
            drift_ppm: drift::tolerated(config.times.validity, config.times.ttl),
            timeouts: config.timeouts().into(),
            variants: Variants::<Switch>::declared(),
            ..Card::mutex(
                "leased",
                "the queue of a lock service, whose keys end with the sessions of their owners",
                "Burrows, OSDI, 2006",
            )
        }
    }
}
