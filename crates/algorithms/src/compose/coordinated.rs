//! The centralised mutex at an elected leader: a lock that survives the crash of its leader.
//!
//! Such a coordinator is the classical use of an election (Garcia-Molina, *Elections in a
//! distributed computing system*, IEEE ToC 1982). The state of a crashed coordinator is lost.
//! Therefore the next leader asks all processes that it trusts before it grants the lock.
//!
//! | | |
//! |---|---|
//! | assumes | the assumptions of the election; reliable FIFO channels |
//! | | no wrong suspicion, unless entries expire |
//! | messages per entry | 3; none for the leader's own; 2(N − 1) more at a change of leader |
//! | | and, if entries expire, more for repeated requests |
//! | delay to enter, uncontended | 2 messages |
//! | delay from exit to the next entry | 2 messages |
//!
//! **Why it is right.** A new leader first asks every peer that it trusts: *idle, waiting, or
//! inside?* It rebuilds the queue from the reports and grants only when all have arrived. A process
//! that has reported in a term accepts no grant of an older term. So grants of the old coordinator
//! that are still in flight have no effect. The leader waits for the release of a process that is
//! inside. It also asks each process whose suspicion ends, so no waiter is forgotten.
//!
//! The leader does not wait for a *suspected* peer. After a wrong suspicion two processes may be
//! inside, and only the fence protects a resource. If entries expire ([`LeaseDurations`]),
//! as they do under a leader with a lease, a wrong suspicion is harmless. A process that waits or
//! is inside repeats its request. A process stays inside only for a limited time after it has sent
//! its last answered request. A leader answers only while it leads, and only processes that it
//! trusts. The leader reassigns the lock of a suspected process after a longer time, measured from
//! the suspicion or from the leader's election. The suspected process sent all its answered
//! requests before this time began. So an isolated process, alone or with an old leader, leaves
//! before another enters, if clocks keep their rates.
//!
//! The fence of a grant is the pair (term, number of the grant in this term), so every later grant
//! has a higher fence. A resource rejects lower fences than it has seen. If all processes that know
//! the highest term are down, the others may elect a leader with a lower term. The resource then
//! rejects the fences of this leader.

mod card;
mod config;
mod leading;
mod message;
pub mod named_locks;

use alloc::vec::Vec;
use core::fmt;

use tenure_core::service::mutex_and_election::{Command, Event};
use tenure_core::service::{election, mutex};
use tenure_core::{
    Effects, Election, Fence, Group, Input, PeerVerdict, ProcessId, ProcessSet, Protocol, Term,
    TimerRole, UncomparedConfig,
};

pub(crate) use self::config::config_for_election;
pub use self::config::{Config, VariantId};
pub use self::message::Message;
use super::coordinator::{Coordinator, RequestStatus};
use crate::mutex::{Claim, DeadlineSlot, LeaseDurations, RenewalRequests, RequestId};

/// State of one process: a client of the lock and, while it leads, also the coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CoordinatedLock<E: Election> {
    group: Group,
    election: E,
    /// Highest known term, if one is known. The process ignores messages of older terms.
    term: Option<Term>,
    is_leader_trusted: bool,
    suspected: ProcessSet,
    ticket: RequestId,
    phase: Phase,
    /// Durations that limit an entry to the critical section; `None` if entries do not expire.
    times: UncomparedConfig<Option<LeaseDurations>>,
    renewals: RenewalRequests,
    /// State of this process as the coordinator of the lock. `None` unless this process leads.
    coordinator: Option<Coordinator>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting,
    Inside { fence: Fence },
}

/// Timers of this algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer<T> {
    /// A timer of the election.
    Election(T),
    /// Deadline of the renewal request that uses this slot. When the timer fires, the response to
    /// that request no longer permits this process to be inside the critical section.
    Deadline(DeadlineSlot),
    /// Time to send the next renewal request.
    Renewal,
    /// At the leader: each suspected process that may be inside has had enough time to leave.
    Expiry,
}

impl<T: fmt::Debug> fmt::Debug for Timer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Timer::Election(timer) => timer.fmt(f),
            Timer::Deadline(side) => write!(f, "Deadline({side:?})"),
            Timer::Renewal => f.write_str("Renewal"),
            Timer::Expiry => f.write_str("Expiry"),
        }
    }
}

/// State that survives a crash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stable<S> {
    /// Number of times that this process has booted. This number distinguishes the requests of this
    /// boot from the requests of earlier boots.
    boots: u64,
    election: S,
}

impl<E: Election> Protocol for CoordinatedLock<E> {
    type Config = Config<E::Config>;
    type Command = Command;
    type Event = Event;
    type Message = Message<E::Message>;
    type Timer = Timer<E::Timer>;
    type Stable = Stable<E::Stable>;

    fn boot(
        group: Group,
        config: &Self::Config,
        stable: Option<Self::Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let (boots, stable) =
            stable.map_or((0, None), |stable| (stable.boots, Some(stable.election)));
        let (election, events) = fx.run_child(Message::Election, Timer::Election, |fx| {
            E::boot(group, &config.election, stable, fx)
        });
        let mut coordinated = CoordinatedLock {
            group,
            election,
            term: None,
            is_leader_trusted: false,
            suspected: ProcessSet::new(),
            ticket: RequestId { boot: boots + 1, number: 0 },
            phase: Phase::Idle,
            times: UncomparedConfig::new(config.entry_durations),
            renewals: RenewalRequests::default(),
            coordinator: None,
        };
        coordinated.on_election_events(events, fx);
        coordinated
    }

    fn stable(&self) -> Self::Stable {
        Stable { boots: self.ticket.boot, election: self.election.stable() }
    }

    fn unsaved_change(&self, saved: &Self::Stable) -> Option<Self::Stable> {
        let boots = self.ticket.boot;
        match self.election.unsaved_change(&saved.election) {
            Some(election) => Some(Stable { boots, election }),
            None => (boots != saved.boots).then(|| self.stable()),
        }
    }

    fn apply_change(saved: &mut Self::Stable, change: Self::Stable) {
        saved.boots = change.boots;
        E::apply_change(&mut saved.election, change.election);
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Mutex(mutex::Command::Enter) => self.request(fx),
            Command::Mutex(mutex::Command::Exit) => self.exit(fx),
            Command::Election(command) => self.step_election(Input::Command(command), fx),
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Self::Message, fx: &mut impl Effects<Self>) {
        let claim = |ticket| Claim { process: from, ticket };
        match message {
            Message::Election(message) => self.step_election(Input::Message { from, message }, fx),
            Message::Request { term, ticket, round } if self.accepts_request(from, term) => {
                self.answer_renewal(claim(ticket), round, fx);
                self.update_coordinator_and_grant(
                    |coordinator| coordinator.record_request(claim(ticket), round),
                    fx,
                );
            }
            Message::Release { term, ticket } if self.accepts_request(from, term) => {
                let withdraw = |state: &mut Coordinator| state.grants.withdraw(claim(ticket));
                self.update_coordinator_and_grant(withdraw, fx);
            }
            Message::Report { term, status, round } if self.accepts_request(from, term) => {
                let record = |state: &mut Coordinator| state.record_status(from, status, round);
                self.update_coordinator_and_grant(record, fx);
            }
            Message::Grant { term, ticket, round, fence } if self.term == Some(term) => {
                self.on_grant(from, (ticket, round), fence, fx);
            }
            Message::Inquire { term } if self.term.is_none_or(|known| known <= term) => {
                self.follow(term);
                let (status, round) = (self.status(), self.start_request(fx));
                fx.send(from, Message::Report { term, status, round });
            }
            // Ignored: the message is of another term, from a suspect, or for a process that does
            // not lead. The leader asks for the same information in its next inquiry.
            Message::Request { .. }
            | Message::Release { .. }
            | Message::Report { .. }
            | Message::Grant { .. }
            | Message::Inquire { .. } => {}
        }
    }

    fn on_timer(&mut self, timer: Self::Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Election(timer) => self.step_election(Input::Timer(timer), fx),
            Timer::Deadline(side) => {
                if self.renewals.on_deadline(side) {
                    self.leave(fx);
                }
            }
            Timer::Renewal => match self.term {
                Some(term) if self.is_leader_trusted => self.send_request(term, fx),
                _ => self.set_renewal(fx),
            },
            Timer::Expiry => {
                self.update_coordinator_and_grant(Coordinator::drop_possibly_inside_claims, fx)
            }
        }
    }

    fn timer_role(timer: &Self::Timer) -> TimerRole {
        match timer {
            Timer::Election(timer) => E::timer_role(timer),
            Timer::Deadline(_) => TimerRole::EndsClaim,
            Timer::Renewal | Timer::Expiry => TimerRole::Plain,
        }
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        self.record_verdict(peer, verdict);
        self.step_election(Input::Suspicion { peer, verdict }, fx);
        self.on_verdict_as_leader(peer, verdict, fx);
    }
}

/// Client role: requests, enters and leaves the critical section.
impl<E: Election> CoordinatedLock<E> {
    fn request(&mut self, fx: &mut impl Effects<Self>) {
        assert!(self.phase == Phase::Idle, "a process may request only when idle");
        self.ticket.number += 1;
        self.phase = Phase::Waiting;
        self.set_renewal(fx);
        match self.term {
            Some(term) if self.is_leader_trusted => self.send_request(term, fx),
            // Sends no request: the elected leader will ask for the state of the request.
            _ => self.step_election(Input::Command(election::Command::Elect), fx),
        }
    }

    fn exit(&mut self, fx: &mut impl Effects<Self>) {
        match self.phase {
            Phase::Inside { .. } => self.leave(fx),
            // The entry has expired before the exit command of the user.
            _ => assert!(self.times.is_some(), "only a process inside may exit"),
        }
    }

    /// Leaves the critical section, on command or because the entry has expired. Sends a release.
    fn leave(&mut self, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Idle;
        if self.times.is_some() {
            self.renewals.reset();
            let deadlines = [DeadlineSlot::Left, DeadlineSlot::Right].map(Timer::Deadline);
            deadlines.into_iter().chain([Timer::Renewal]).for_each(|timer| fx.cancel_timer(timer));
        }
        fx.emit(Event::Mutex(mutex::Event::Exited));
        if let Some(term) = self.term {
            self.send(term.leader, Message::Release { term, ticket: self.ticket }, fx);
        }
    }

    fn send_request(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        let round = self.start_request(fx);
        self.send(term.leader, Message::Request { term, ticket: self.ticket, round }, fx);
    }

    /// Returns the number of a new renewal request, and starts its timers. If entries do not
    /// expire, or if this process is idle, starts no timer and returns 0.
    fn start_request(&mut self, fx: &mut impl Effects<Self>) -> u64 {
        let Some(times) = self.times.filter(|_| self.phase != Phase::Idle) else { return 0 };
        let (side, round) = self.renewals.start_request(times.request_modulus);
        fx.set_timer(Timer::Deadline(side), times.lease);
        self.set_renewal(fx);
        round
    }

    fn set_renewal(&self, fx: &mut impl Effects<Self>) {
        if let Some(times) = *self.times {
            fx.set_timer(Timer::Renewal, times.renewal_interval);
        }
    }

    fn on_grant(
        &mut self,
        from: ProcessId,
        (ticket, round): (RequestId, u64),
        fence: Fence,
        fx: &mut impl Effects<Self>,
    ) {
        let ours = ticket == self.ticket && self.phase != Phase::Idle;
        if ours && self.times.is_some() {
            match self.renewals.on_grant(round) {
                Some((_, Some(before))) => fx.cancel_timer(Timer::Deadline(before)),
                Some((_, None)) => {}
                // The response is late or to an older request. The next response permits entry.
                None => return,
            }
        }
        match self.phase {
            Phase::Waiting if ours => {
                self.phase = Phase::Inside { fence };
                fx.emit(Event::Mutex(mutex::Event::Entered { fence }));
            }
            Phase::Inside { .. } if ours => {}
            // The grant is for an ended request. Without a release, all others would wait forever.
            _ => {
                if let Some(term) = self.term {
                    self.send(from, Message::Release { term, ticket }, fx);
                }
            }
        }
    }

    fn status(&self) -> RequestStatus {
        match self.phase {
            Phase::Idle => RequestStatus::Idle,
            Phase::Waiting => RequestStatus::Waiting { ticket: self.ticket },
            Phase::Inside { fence } => RequestStatus::Inside { ticket: self.ticket, fence },
        }
    }

    /// Sends a message, or handles it directly if it is for this process.
    fn send(&mut self, to: ProcessId, message: Message<E::Message>, fx: &mut impl Effects<Self>) {
        if to == self.group.me() {
            self.on_message(to, message, fx);
        } else {
            fx.send(to, message);
        }
    }
}

impl<E: Election> CoordinatedLock<E> {
    fn step_election(&mut self, input: Input<E>, fx: &mut impl Effects<Self>) {
        let (_, events) =
            fx.run_child(Message::Election, Timer::Election, |fx| self.election.step(input, fx));
        self.on_election_events(events, fx);
    }

    fn on_election_events(&mut self, events: Vec<election::Event>, fx: &mut impl Effects<Self>) {
        for event in events {
            fx.emit(Event::Election(event));
            match event {
                election::Event::Elected { term, .. } => self.on_elected(term, fx),
                election::Event::Deposed { term } if self.term == Some(term) => {
                    self.is_leader_trusted = false;
                    self.coordinator = None;
                }
                election::Event::Deposed { .. } => {}
            }
        }
    }

    fn on_elected(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        if self.term.is_some_and(|known| known > term) {
            return;
        }
        let is_trusted_again = self.term == Some(term) && !self.is_leader_trusted;
        self.follow(term);
        self.is_leader_trusted = true;
        if term.leader == self.group.me() {
            self.start_coordinating(term, fx);
        } else if is_trusted_again && self.phase == Phase::Waiting {
            // The suspicion was wrong. The leader does not inquire again in the same term.
            self.send_request(term, fx);
        }
    }

    /// Moves this process to a new `term`: it trusts the leader of `term`, is no coordinator any
    /// more, and ignores messages of older terms.
    fn follow(&mut self, term: Term) {
        if self.term != Some(term) {
            self.term = Some(term);
            self.is_leader_trusted = true;
            self.coordinator = None;
        }
    }
}
