//! Many named locks at one leader: all locks share one election and one set of connections.
//!
//! Each lock is a [`CoordinatedLock`] with its own queue, tickets and fences. Its election is an
//! [`ExternalElection`]: the shared election runs outside of the lock, and the lock is informed of
//! the leader. So locks of different names are independent, and each lock has all properties of a
//! single lock. An entry costs as much as with a single lock. The cost of a change of leader grows
//! with the number of names that were ever used.
//!
//! The first command or message with a name creates the lock of this name. The lock then exists
//! forever. A new lock is informed of the suspected processes and the leader. Before a leader
//! grants a lock for the first time, it asks all trusted processes whether they hold this lock or
//! wait for it. A new leader may not know the names of all locks, and cannot ask about an unknown
//! name. Therefore each waiting process sends its request again to a new leader. Locks are not
//! saved. All locks of a process share one count of its boots, which distinguishes the requests of
//! this boot from the requests of earlier boots.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use tenure_core::service::with_election::{Command, Event};
use tenure_core::service::{election, mutex, mutex_and_election};
use tenure_core::{
    Algorithm, Card, Effects, Election, Group, Input, Labelled, LockName, MessageLabel, Never,
    PeerVerdict, ProcessId, ProcessSet, Protocol, Tagged, Term, TimerRole, UncomparedConfig,
};

use super::{Config, CoordinatedLock, Phase, Stable};
use crate::mutex::LeaseDurations;

/// State of one process. The process takes part in all locks, and in one election. The leader of
/// this election grants all locks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamedLocks<E: Election> {
    group: Group,
    boots: u64,
    times: UncomparedConfig<Option<LeaseDurations>>,
    election: E,
    /// The highest term reported by the election; `None` before the first report.
    term: Option<Term>,
    is_leader_trusted: bool,
    suspected: ProcessSet,
    locks: BTreeMap<LockName, CoordinatedLock<ExternalElection>>,
}

/// Stand-in for an election that runs outside of the lock. It sends no messages and reports no
/// events. The component that contains the lock informs the lock of the election's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExternalElection;

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message<E> {
    /// A message of the election.
    Election(E),
    /// A message of a lock.
    Lock(Tagged<LockName, super::Message<Never>>),
}

impl<E: Labelled> Labelled for Message<E> {
    fn label(&self) -> MessageLabel {
        match self {
            Message::Election(message) => message.label(),
            Message::Lock(message) => message.label(),
        }
    }
}

/// Timers of the election and of all locks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer<T> {
    /// A timer of the election.
    Election(T),
    /// A timer of a lock.
    Lock(Tagged<LockName, super::Timer<Never>>),
}

impl<E: Election> Protocol for NamedLocks<E> {
    type Config = Config<E::Config>;
    type Command = Command<Tagged<LockName, mutex::Command>>;
    type Event = Event<Tagged<LockName, mutex::Event>>;
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
        let mut named = NamedLocks {
            group,
            boots: boots + 1,
            times: UncomparedConfig::new(config.entry_durations),
            election,
            term: None,
            is_leader_trusted: false,
            suspected: ProcessSet::new(),
            locks: BTreeMap::new(),
        };
        named.on_election_events(events, fx);
        named
    }

    fn stable(&self) -> Self::Stable {
        Stable { boots: self.boots, election: self.election.stable() }
    }

    fn unsaved_change(&self, saved: &Self::Stable) -> Option<Self::Stable> {
        match self.election.unsaved_change(&saved.election) {
            Some(election) => Some(Stable { boots: self.boots, election }),
            None => (self.boots != saved.boots).then(|| self.stable()),
        }
    }

    fn apply_change(saved: &mut Self::Stable, change: Self::Stable) {
        saved.boots = change.boots;
        E::apply_change(&mut saved.election, change.election);
    }

    fn on_command(&mut self, command: Self::Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Application(Tagged { key, inner }) => {
                let lock = self.lock(&key, fx);
                lock.on_command(
                    mutex_and_election::Command::Mutex(inner),
                    &mut lock_effects(&key, fx),
                );
                // If no leader is trusted, a leader must be elected. The new leader then learns of
                // this request.
                if inner == mutex::Command::Enter && !lock.is_leader_trusted {
                    self.step_election(Input::Command(election::Command::Elect), fx);
                }
            }
            Command::Election(command) => self.step_election(Input::Command(command), fx),
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Self::Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Election(message) => self.step_election(Input::Message { from, message }, fx),
            Message::Lock(Tagged { key, inner }) => {
                self.lock(&key, fx).on_message(from, inner, &mut lock_effects(&key, fx));
            }
        }
    }

    fn on_timer(&mut self, timer: Self::Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Election(timer) => self.step_election(Input::Timer(timer), fx),
            Timer::Lock(Tagged { key, inner }) => {
                self.lock(&key, fx).on_timer(inner, &mut lock_effects(&key, fx));
            }
        }
    }

    fn timer_role(timer: &Self::Timer) -> TimerRole {
        match timer {
            Timer::Election(timer) => E::timer_role(timer),
            Timer::Lock(timer) => CoordinatedLock::<ExternalElection>::timer_role(&timer.inner),
        }
    }

    /// Records the verdict in all locks before the election handles the verdict. So if the verdict
    /// makes this process the leader, its locks already know which processes are suspected.
    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        match verdict {
            PeerVerdict::Suspect => self.suspected.insert(peer),
            PeerVerdict::Trust => self.suspected.remove(peer),
        };
        self.locks.values_mut().for_each(|lock| lock.record_verdict(peer, verdict));
        self.step_election(Input::Suspicion { peer, verdict }, fx);
        for (name, lock) in &mut self.locks {
            lock.on_verdict_as_leader(peer, verdict, &mut lock_effects(name, fx));
        }
    }
}

impl<E: Election> NamedLocks<E> {
    /// Returns the lock with this name, and boots it first if it does not exist.
    fn lock(
        &mut self,
        name: &LockName,
        fx: &mut impl Effects<Self>,
    ) -> &mut CoordinatedLock<ExternalElection> {
        if !self.locks.contains_key(name) {
            let lock = self.boot_lock(&mut lock_effects(name, fx));
            self.locks.insert(name.clone(), lock);
        }
        self.locks.get_mut(name).expect("the lock was just booted")
    }

    /// Boots a lock and informs it of the suspected processes, the term and the leader.
    fn boot_lock(
        &self,
        fx: &mut impl Effects<CoordinatedLock<ExternalElection>>,
    ) -> CoordinatedLock<ExternalElection> {
        let config = Config { election: (), entry_durations: *self.times };
        let stable = Stable { boots: self.boots - 1, election: () };
        let mut lock = CoordinatedLock::boot(self.group, &config, Some(stable), fx);
        lock.suspected = self.suspected.clone();
        match self.term {
            Some(term) if self.is_leader_trusted => {
                lock.on_election_events(
                    vec![election::Event::Elected { leader: term.leader, term }],
                    fx,
                );
            }
            known => lock.term = known,
        }
        lock
    }

    fn step_election(&mut self, input: Input<E>, fx: &mut impl Effects<Self>) {
        let (_, events) =
            fx.run_child(Message::Election, Timer::Election, |fx| self.election.step(input, fx));
        self.on_election_events(events, fx);
    }

    fn on_election_events(&mut self, events: Vec<election::Event>, fx: &mut impl Effects<Self>) {
        for event in events {
            fx.emit(Event::Election(event));
            match event {
                election::Event::Elected { term, .. } if self.term <= Some(term) => {
                    (self.term, self.is_leader_trusted) = (Some(term), true);
                }
                election::Event::Deposed { term } if self.term == Some(term) => {
                    self.is_leader_trusted = false
                }
                election::Event::Elected { .. } | election::Event::Deposed { .. } => {}
            }
            for (name, lock) in &mut self.locks {
                let before = lock.term;
                lock.on_election_events(vec![event], &mut lock_effects(name, fx));
                if lock.term != before {
                    lock.request_again(&mut lock_effects(name, fx));
                }
            }
        }
    }
}

impl CoordinatedLock<ExternalElection> {
    /// Sends the request of this process to the new leader, which may not know this lock. Does
    /// nothing if the process does not wait for the critical section, or is itself the leader.
    fn request_again(&mut self, fx: &mut impl Effects<Self>) {
        if let Some(term) = self.term
            && term.leader != self.group.me()
            && self.phase == Phase::Waiting
        {
            self.send_request(term, fx);
        }
    }
}

/// Returns the effects for the lock with this name. These effects add the name to the messages,
/// timers and events of the lock. They discard election events, because the shared election is
/// reported once for all locks.
fn lock_effects<'a, E: Election>(
    name: &'a LockName,
    fx: &'a mut impl Effects<NamedLocks<E>>,
) -> impl Effects<CoordinatedLock<ExternalElection>> + 'a {
    fx.child_effects(
        |inner| Message::Lock(Tagged { key: name.clone(), inner }),
        |inner| Timer::Lock(Tagged { key: name.clone(), inner }),
        |event| match event {
            mutex_and_election::Event::Mutex(inner) => {
                Some(Event::Application(Tagged { key: name.clone(), inner }))
            }
            mutex_and_election::Event::Election(_) => None,
        },
    )
}

impl<E: Election + Algorithm> Algorithm for NamedLocks<E> {
    fn card(config: &Self::Config, size: u32) -> Card {
        let mut card = CoordinatedLock::<E>::card(config, size);
        card.name = format!("named:{}", card.name);
        card.title = format!("many locks by name, each: {}", card.title);
        card
    }

    fn highest_term(&self) -> u64 {
        self.election.highest_term()
    }
}

impl Protocol for ExternalElection {
    type Config = ();
    type Command = election::Command;
    type Event = election::Event;
    type Message = Never;
    type Timer = Never;
    type Stable = ();

    fn boot(_: Group, (): &(), _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        ExternalElection
    }

    fn stable(&self) {}

    fn on_command(&mut self, _: election::Command, _: &mut impl Effects<Self>) {}

    fn on_message(&mut self, _: ProcessId, message: Never, _: &mut impl Effects<Self>) {
        match message {}
    }

    fn on_timer(&mut self, timer: Never, _: &mut impl Effects<Self>) {
        match timer {}
    }

    fn on_suspicion(&mut self, _: ProcessId, _: PeerVerdict, _: &mut impl Effects<Self>) {}
}
