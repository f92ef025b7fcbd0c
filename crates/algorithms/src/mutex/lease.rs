//! A lease: a lock that expires by itself, first at its holder, and then at the grantor.
//!
//! C. Gray, D. Cheriton, *Leases: an efficient fault-tolerant mechanism for distributed file cache
//! consistency*, SOSP 1989. Their leases protect cached reads. The lease here is exclusive, like
//! the ephemeral locks of lock services. One process, the *grantor*, grants it.
//!
//! | | |
//! |---|---|
//! | assumes | clock rates within 5 %, no paused process; any delays, losses, crashes |
//! | messages per entry | 3; none at the grantor; 2 more for a waiter, and 2 per renewal |
//! | delay to enter, uncontended | 2 messages |
//! | delay from exit to the next entry | 4 messages |
//! | delay from a crash inside to the next entry | the rest of the grant, and 3 messages |
//!
//! **Why it is right.** The holder measures its lease from its *request*. The grantor reserves the
//! lock for a longer time, and measures it from its *response*. The response follows the request.
//! So if clock drift does not exceed the margin, the holder has left before another process gets
//! the lock. No message is needed for this. Late messages do no harm, because a grant names its
//! request and the lease begins with that request. A process inside renews before its time ends. If
//! its requests or responses are lost, it leaves when the last answered request expires. A
//! restarted grantor grants nothing for as long as an earlier grant may last, so it need not save
//! grants.
//!
//! A process that has waited in the queue cannot use its old request, because the lease would begin
//! with that request. So the grantor notifies the process when its turn comes, and the process
//! requests again. In the meantime the lock is reserved for this process. Requests are repeated
//! until answered, so losses are tolerated.
//!
//! A lease cannot stop a suspended process. Such a process believes that it is inside until its
//! timer fires after it resumes. The fence distinguishes its late writes from those of others.

mod config;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::{
    Algorithm, AlgorithmClass, Card, CrashModel, Effects, Fence, Group, MessageCost, ProcessId,
    ProcessKnowledge, Property, Protocol, TimerRole, Timing, ToleratedFaults, Topology,
    UncomparedConfig, labelled,
};

pub use self::config::{Config, VariantId};
use super::{Claim, DeadlineSlot, GrantQueue, RenewalRequests, RequestId};
use crate::Variants;

/// One process: a client of the grantor. One of the processes is also the grantor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LeaseMutex {
    me: ProcessId,
    config: UncomparedConfig<Config>,
    /// Identifier of the latest entry that this process has requested.
    ticket: RequestId,
    phase: Phase,
    renewals: RenewalRequests,
    /// Grants and waiting requests; used only at the grantor.
    grants: GrantQueue,
    /// True while this process grants nothing because it has restarted as the grantor. Grants from
    /// before the restart may still be valid.
    is_closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting,
    Inside,
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Requests entry to the critical section, or renews the lease of an entry.
    Request {
        /// Identifier of the requested entry to the critical section.
        ticket: RequestId,
        /// Number of this request. It distinguishes the renewals of one entry to the critical
        /// section.
        round: u64,
    },
    /// Informs the receiver that it is the next process to enter the critical section. The receiver
    /// must request again, so that its lease starts now.
    Turn {
        /// Identifier of the entry to the critical section that the receiver requested.
        ticket: RequestId,
    },
    /// Grants a lease for the critical section. The lease is measured from the moment of the
    /// request.
    Grant {
        /// Identifier of the granted entry to the critical section.
        ticket: RequestId,
        /// Number of the request that this grant answers.
        round: u64,
        /// Fence of the entry to the critical section.
        fence: Fence,
    },
    /// Releases the lock, because the entry with this ticket has ended.
    Release {
        /// Identifier of the entry to the critical section that has ended.
        ticket: RequestId,
    },
}

labelled!(
    Message, Mutex,
    Request => "request", Turn => "turn", Grant => "grant", Release => "release",
);

/// Timers of this algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// The deadline of a request has passed. If the process is inside the critical section because
    /// of the response to this request, it must leave. A response that arrives later permits no
    /// entry.
    Deadline(DeadlineSlot),
    /// The next request is due.
    Renewal,
    /// At the grantor: the current grant or reservation has expired. After a restart of the
    /// grantor: all grants from before the restart have expired.
    Expiry,
}

/// State that survives a crash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stable {
    /// Number of starts of this process. It distinguishes the requests and fences of this start
    /// from those that belong to earlier starts.
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
    boots: u64,
}

impl Protocol for LeaseMutex {
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
        assert!(group.contains(config.grantor), "the grantor must be in the group");
        let boots = stable.map_or(0, |stable| stable.boots) + 1;
        let lease = LeaseMutex {
            me: group.me(),
            config: UncomparedConfig::new(config.clone()),
            ticket: RequestId { boot: boots, number: 0 },
            phase: Phase::Idle,
            renewals: RenewalRequests::default(),
            grants: GrantQueue::default(),
            is_closed: boots > 1
                && config.grantor == group.me()
                && !config.variants.has(VariantId::ForgottenGrants),
        };
        if lease.is_closed {
            fx.set_timer(Timer::Expiry, config.durations.reservation);
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
                self.send_request(fx);
            }
            (Command::Enter, _) => panic!("a process may request only when idle"),
            (Command::Exit, Phase::Inside) => self.leave(fx),
            // The lease expired before the user's command.
            (Command::Exit, _) => {}
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Request { ticket, round } => {
                self.on_request(Claim { process: from, ticket }, round, fx);
            }
            Message::Release { ticket } => {
                self.grants.withdraw(Claim { process: from, ticket });
                self.notify_next(fx);
            }
            Message::Turn { ticket } if self.wants(ticket) => {
                if self.phase == Phase::Waiting {
                    self.send_request(fx);
                }
            }
            Message::Grant { ticket, round, fence } if self.wants(ticket) => {
                self.on_grant(round, fence, fx);
            }
            // The entry has ended: release the lock.
            Message::Turn { ticket } | Message::Grant { ticket, .. } => {
                self.send(from, Message::Release { ticket }, fx);
            }
        }
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Deadline(side) => {
                if self.renewals.on_deadline(side) {
                    self.leave(fx);
                }
            }
            Timer::Renewal => self.send_request(fx),
            Timer::Expiry => {
                self.is_closed = false;
                if let Some(holder) = self.grants.holder() {
                    self.grants.withdraw(holder);
                }
                self.notify_next(fx);
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

/// Client role of the process: it requests, enters and exits the critical section.
impl LeaseMutex {
    /// Sends a request or a renewal. If the grantor grants the request, the lease is measured from
    /// the moment of this call.
    fn send_request(&mut self, fx: &mut impl Effects<Self>) {
        let times = self.config.durations;
        let (side, round) = self.renewals.start_request(times.request_modulus);
        fx.set_timer(Timer::Deadline(side), self.config.lease_duration());
        fx.set_timer(Timer::Renewal, times.renewal_interval);
        let request = Message::Request { ticket: self.ticket, round };
        self.send(self.config.grantor, request, fx);
    }

    /// Handles a grant. If the grant answers the latest request in time, this process enters the
    /// critical section or stays inside.
    fn on_grant(&mut self, round: u64, fence: Fence, fx: &mut impl Effects<Self>) {
        let Some((side, before)) = self.renewals.on_grant(round) else { return };
        if let Some(before) = before {
            fx.cancel_timer(Timer::Deadline(before));
        }
        if self.phase == Phase::Waiting {
            self.phase = Phase::Inside;
            fx.emit(Event::Entered { fence });
        }
        if self.has(VariantId::DeadlineFromAnswer) {
            fx.set_timer(Timer::Deadline(side), self.config.lease_duration());
        }
    }

    /// Exits, because the user commanded it or the lease expired.
    fn leave(&mut self, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Idle;
        self.renewals.reset();
        for timer in [
            Timer::Deadline(DeadlineSlot::Left),
            Timer::Deadline(DeadlineSlot::Right),
            Timer::Renewal,
        ] {
            fx.cancel_timer(timer);
        }
        fx.emit(Event::Exited);
        self.send(self.config.grantor, Message::Release { ticket: self.ticket }, fx);
    }

    fn wants(&self, ticket: RequestId) -> bool {
        ticket == self.ticket && self.phase != Phase::Idle
    }

    /// Sends a message, or handles it directly if this process is the receiver.
    fn send(&mut self, to: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        if to == self.me {
            self.on_message(to, message, fx);
        } else {
            fx.send(to, message);
        }
    }
}

/// Grantor role: grants leases, and notifies waiting processes.
impl LeaseMutex {
    /// Handles a request. If the lock is granted to the sender or reserved for it, grants a new
    /// lease. If the lock is free, grants it to the sender if the sender is the first in the queue;
    /// otherwise notifies the first process. While the grantor is closed, the request only waits in
    /// the queue.
    fn on_request(&mut self, claim: Claim, round: u64, fx: &mut impl Effects<Self>) {
        let is_renewal = self.grants.holder() == Some(claim);
        self.grants.enqueue(claim);
        if self.is_closed {
            return;
        }
        if let Some((next, _)) = self.grants.grant_next()
            && next != claim
        {
            self.notify_turn(next, fx);
        }
        if self.grants.holder() == Some(claim) {
            if !is_renewal || !self.has(VariantId::RenewalIgnored) {
                fx.set_timer(Timer::Expiry, self.config.grant_duration());
            }
            let fence = Fence(self.ticket.boot, self.grants.grant_count());
            let grant = Message::Grant { ticket: claim.ticket, round, fence };
            self.send(claim.process, grant, fx);
        }
    }

    /// Reserves the lock for the first waiting process and notifies this process, if the lock is
    /// free and the grantor is not closed.
    fn notify_next(&mut self, fx: &mut impl Effects<Self>) {
        if self.is_closed || self.grants.holder().is_some() {
            return;
        }
        match self.grants.grant_next() {
            Some((next, _)) => self.notify_turn(next, fx),
            None => fx.cancel_timer(Timer::Expiry),
        }
    }

    /// Notifies the process of the claim `next`, for which the lock is now reserved, that its turn
    /// has come. Starts the timer [`Timer::Expiry`], which ends the reservation when it fires.
    fn notify_turn(&mut self, next: Claim, fx: &mut impl Effects<Self>) {
        fx.set_timer(Timer::Expiry, self.config.grant_duration());
        self.send(next.process, Message::Turn { ticket: next.ticket }, fx);
    }

    fn has(&self, switch: VariantId) -> bool {
        self.config.variants.has(switch)
    }
}

impl Algorithm for LeaseMutex {
    fn card(config: &Config, size: u32) -> Card {
        let formula = "3 (0 at the grantor), and 2 for a waiter or a renewal";
        Card {
            strategy: AlgorithmClass::Centralised,
            timing: Timing::Synchronous,
            faults: ToleratedFaults {
                loss: true,
                crashes: CrashModel::Recovery,
                ..ToleratedFaults::duplication_only(
                    "continues when a process that waits or is inside crashes or is partitioned; \
                     stops while the grantor is down",
                )
            },
            topology: Topology::Star,
            knows: ProcessKnowledge::UNIFORM,
            messages: MessageCost::per_entry(formula, 0, None)
                .zero_if_alone(size)
                .marked_incomplete(),
            promises: [].into(),
            timed_promises: [Property::MutualExclusion, Property::Fencing].into(),
            drift_ppm: config.durations.tolerated_drift_ppm(),
            timeouts: config.durations.timeouts().into(),
            variants: Variants::<VariantId>::declarations(),
            ..Card::mutex(
                "lease",
                "a lock that ends by itself unless it is renewed, at the holder first",
                "Gray & Cheriton, SOSP, 1989",
            )
        }
    }
}
