//! The lock of a lock service as clients of etcd use it: a queue of keys that are attached to
//! sessions.
//!
//! Clients of etcd build their lock in the same way (`concurrency`, `etcdctl lock`). The design is
//! from M. Burrows, *The Chubby lock service for loosely-coupled distributed systems*, OSDI 2006,
//! with a queue added. A session is a lease (C. Gray, D. Cheriton, SOSP 1989). This module runs the
//! code of the real lock service and its clients: the store (`tenure-store`), and the session, the
//! waiter and the lessor (`tenure-session`). The module itself only carries messages between them,
//! and models the log and the leader of the service.
//!
//! | | |
//! |---|---|
//! | assumes | clock rates within 5 %, no paused process; any delays, losses, crashes |
//! | messages per entry | 5; none at the service; 4 more for a waiter, and 2 per renewal |
//! | delay to enter, uncontended | 4 messages |
//! | delay from exit to the next entry | 4 messages |
//! | delay from a crash inside to the next entry | the rest of the lease, and 3 messages |
//!
//! **Why it is right.** Keys are queued in the order of the revisions that created them. Only the
//! owner of the first key is inside, and the revision of its key is the fence. A key is deleted
//! when its owner leaves or its lease ends. The owner relies on its lease for less than the full
//! duration, measured from *sending* the last answered renewal. The service received that renewal
//! later, and keeps the lease for the full duration. So the owner has left before its key is
//! deleted, and another process enters only after that. The same holds across a change of leader. A
//! new leader uses the remaining time that the log records. The recorded time is never shorter than
//! the real remaining time, because the full duration is recorded again before a renewal is
//! answered. A leader answers a renewal only after a majority has confirmed its leadership. It
//! answers no renewal while the end of the lease is being committed.
//!
//! **Why every process is served.** A waiter reads the queue at some revision, and watches the
//! nearest earlier key from the next revision on. So it misses no deletion. A crashed process loses
//! its lease. A change of leader does not restart the full duration.
//!
//! **Properties of the lock service that are checked here:**
//!
//! - `mutual-exclusion`: at most one process is inside, if clocks drift no more than assumed
//! - `fencing`: the fence grows with each grant, across changes of leader
//! - `fencing`: grants follow the order of the queue (a revision is both fence and queue position)
//! - `mutual-exclusion`: a process whose session has ended does not get the lock
//! - `progress`: every live waiter is served, if all processes inside leave or lose their lease
//!
//! **Early release** (variant `early-release`). The service grants the lock to the next process as
//! soon as the service learns that the holder has left. The end of the holder's lease need not be
//! committed yet. This is safe, because the old holder stays outside even if the log entry that
//! ends its lease is lost. The key of the next process must already be in the queue. The variant
//! saves one message delay. Databases call the same idea early lock release.
//!
//! In this model, the service is one process with one log. The algorithm `raft-log` shows how a
//! group replicates such a log. A timer or a restart of the process models a change of the leader.

mod client;
mod config;
mod kind;
mod message;
mod rules;
mod service;

use tenure_core::{
    Algorithm, AlgorithmClass, Card, CrashModel, Effects, Group, MessageCost, ProcessId,
    ProcessKnowledge, Property, Protocol, TimerRole, Timing, ToleratedFaults, Topology,
    UncomparedConfig,
};
use tenure_session::{QueueView, Session, Waiter};
use tenure_store::Store;

pub use config::{Config, VariantId};
pub(crate) use kind::older_keys_query;
pub use kind::{Blockers, ClaimTicket, LockPolicy};
pub use message::Message;
use service::LockService;
pub use tenure_session::DeadlineTimer;

use super::RequestId;
use crate::Variants;
use crate::drift;

/// One process: a client of the lock service. One of the processes is also the service.
pub type SessionMutex = SessionLock<Config>;

/// A client of a lock service, for locks with one policy. One of the processes is also the service.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionLock<L: LockPolicy> {
    me: ProcessId,
    config: UncomparedConfig<L>,
    /// Identifier of this process's latest claim. It contains the ticket of the session.
    ticket: L::Ticket,
    /// Session of the client, with its place in the queue of the lock. `None` while this process
    /// neither waits for the critical section nor is inside it.
    claim: Option<Claim<L>>,
    /// State of the service; `None` at all other processes.
    service: Option<LockService<L>>,
}

/// A claim to the lock: the session of the client, and its waiter. The waiter is the state machine
/// of a client that waits in the queue of the lock or holds the lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Claim<L: LockPolicy> {
    session: Session,
    waiter: Waiter<L::Blockers>,
    /// Number of deletions of which the waiter was notified; see
    /// [`LockPolicy::NotifiedDeletionCount`].
    counted: L::NotifiedDeletionCount,
}

/// Timers of this algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// Client: deadline of the session, counted from the renewal request that started this timer.
    Deadline(DeadlineTimer),
    /// Client: the next renewal is due.
    Renewal,
    /// At the service: a part of the lease with this ID has elapsed. The service divides each lease
    /// into parts, and commits the remaining time after each part.
    Part(u64),
    /// At the service: the log entry that ends the lease with this ID is committed.
    Commit(u64),
    /// At the service: a new leader replaces the current leader of the service. In this model, both
    /// leaders belong to the same process.
    Change,
}

/// State that survives a crash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stable {
    /// Number of starts of this process. It distinguishes the sessions of this start from the
    /// sessions of earlier starts.
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
    boots: u64,
    /// The store of the service; `None` at all other processes.
    store: Option<Store>,
}

impl<L: LockPolicy> Protocol for SessionLock<L> {
    type Config = L;
    type Command = L::Command;
    type Event = L::Event;
    type Message = Message<L::Ticket, L::Blockers>;
    type Timer = Timer;
    type Stable = Stable;

    fn boot(group: Group, config: &L, stable: Option<Stable>, fx: &mut impl Effects<Self>) -> Self {
        let service = config.service_config().service;
        assert!(group.contains(service), "the service must be in the group");
        let Stable { boots, store } = stable.unwrap_or(Stable { boots: 0, store: None });
        let is_service = service == group.me();
        let store = is_service.then(|| store.unwrap_or_else(service::empty_store));
        let mut client = SessionLock {
            me: group.me(),
            config: UncomparedConfig::new(config.clone()),
            ticket: RequestId { boot: boots + 1, number: 0 }.into(),
            claim: None,
            service: store.map(|store| LockService::new(store, 0)),
        };
        client.start_lease_countdowns(fx);
        client
    }

    fn stable(&self) -> Stable {
        let store = self.service.as_ref().map(|service| service.store.clone());
        Stable { boots: self.ticket.session().boot, store }
    }

    fn on_command(&mut self, command: L::Command, fx: &mut impl Effects<Self>) {
        let session = self.next_session_ticket();
        match (self.config.ticket_of_first_claim(&command, session), &mut self.claim) {
            (Some(ticket), None) => self.start_session(ticket, fx),
            (Some(_), Some(_)) => panic!("a process may request only when idle"),
            (None, Some(claim)) => {
                let actions = claim.session.close();
                self.execute_session_actions(actions, fx);
            }
            // The session ended before the user's command.
            (None, None) => {}
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Self::Message, fx: &mut impl Effects<Self>) {
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
                if let Some(claim) = self.claim_with_ticket(ticket) {
                    let action = claim.waiter.on_released(&key);
                    self.execute_waiter_action(action, fx);
                }
            }
            Message::Alive { ticket, round } => {
                if let Some(claim) = self.claim_in_session(ticket.session()) {
                    let actions = claim.session.on_response(round);
                    self.execute_session_actions(actions, fx);
                    self.apply_deadline_from_answer_variant(fx);
                }
            }
            Message::Gone { ticket } => self.on_gone(ticket, fx),
            Message::Place { ticket, revision, own, ahead } => {
                if let Some(claim) = self.claim_with_ticket(ticket)
                    && claim.session.is_alive()
                {
                    let action = claim.waiter.on_queue_view(QueueView {
                        revision,
                        own_create_revision: own,
                        predecessor: ahead,
                    });
                    self.execute_waiter_action(action, fx);
                }
            }
            Message::Deleted { ticket, key, revision } => {
                self.on_deleted(ticket, &key, revision, fx);
            }
        }
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Part(lease) => self.on_lease_part_elapsed(lease, fx),
            Timer::Commit(lease) => self.on_lease_end_committed(lease, fx),
            Timer::Change => self.change_leader(fx),
            Timer::Deadline(side) => {
                self.on_session_timer(tenure_session::Timer::Deadline(side), fx)
            }
            Timer::Renewal => {
                self.on_session_timer(tenure_session::Timer::Renewal, fx);
                // Sends the waiter's request again, because the message may be lost, or the service
                // may have crashed after it received the message.
                let waits = self.claim.as_ref().filter(|claim| claim.session.is_alive());
                self.execute_waiter_action(
                    waits.and_then(|claim| claim.waiter.on_reconnected()),
                    fx,
                );
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

impl From<tenure_session::Timer> for Timer {
    fn from(timer: tenure_session::Timer) -> Self {
        match timer {
            tenure_session::Timer::Deadline(side) => Timer::Deadline(side),
            tenure_session::Timer::Renewal => Timer::Renewal,
        }
    }
}

impl Algorithm for SessionMutex {
    fn card(config: &Config, size: u32) -> Card {
        let formula = "5 (0 at the service), 4 more for a waiter, and 2 for a renewal";
        let card = Card {
            messages: MessageCost::per_entry(formula, 0, None)
                .zero_if_alone(size)
                .marked_incomplete(),
            timed_promises: [Property::MutualExclusion, Property::Fencing].into(),
            variants: Variants::<VariantId>::declarations(),
            ..Card::mutex(
                "leased",
                "the queue of a lock service, whose keys end with the sessions of their owners",
                "Burrows, OSDI, 2006",
            )
        };
        with_service_assumptions(card, config)
    }
}

/// Completes the card of a lock that clients build on a lock service: adds the assumptions, faults
/// and timeouts of that service to `card`.
pub(crate) fn with_service_assumptions(card: Card, config: &Config) -> Card {
    Card {
        strategy: AlgorithmClass::Centralised,
        timing: Timing::Synchronous,
        faults: ToleratedFaults {
            loss: true,
            crashes: CrashModel::Recovery,
            ..ToleratedFaults::duplication_only(
                "continues when a process that waits or is inside crashes or is partitioned, \
                 and when the leader of the service changes; stops while the service is down",
            )
        },
        topology: Topology::Star,
        knows: ProcessKnowledge::UNIFORM,
        promises: [].into(),
        drift_ppm: drift::tolerated_drift_ppm(
            config.session_durations.validity,
            config.session_durations.ttl,
        ),
        timeouts: config.timeouts().into(),
        ..card
    }
}
