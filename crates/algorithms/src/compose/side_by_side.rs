//! A protocol that offers both a mutex and an election.
//!
//! The mutex does not depend on the election. In [`CoordinatedLock`](super::CoordinatedLock),
//! by contrast, the elected leader grants the lock.

use alloc::format;

use tenure_core::service::mutex_and_election::{Command, Event};
use tenure_core::{
    Algorithm, AlgorithmClass, Card, ChannelOrder, CrashModel, Effects, Election, Group, Labelled,
    MessageLabel, Mutex, PeerVerdict, ProcessId, Protocol, Service, TimerRole, ToleratedFaults,
};

/// State of one process: its part of the mutex and its part of the election.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SideBySide<M: Mutex, E: Election> {
    mutex: M,
    election: E,
}

/// A message, or a timer, of the mutex or of the election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum MutexOrElection<M, E> {
    /// A message or timer of the mutex.
    Mutex(M),
    /// A message or timer of the election.
    Election(E),
}

impl<M: Labelled, E: Labelled> Labelled for MutexOrElection<M, E> {
    fn label(&self) -> MessageLabel {
        match self {
            MutexOrElection::Mutex(message) => message.label(),
            MutexOrElection::Election(message) => message.label(),
        }
    }
}

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config<M, E> {
    /// Configuration of the mutex.
    pub mutex: M,
    /// Configuration of the election.
    pub election: E,
}

impl<M: Mutex, E: Election> Protocol for SideBySide<M, E> {
    type Config = Config<M::Config, E::Config>;
    type Command = Command;
    type Event = Event;
    type Message = MutexOrElection<M::Message, E::Message>;
    type Timer = MutexOrElection<M::Timer, E::Timer>;
    type Stable = (M::Stable, E::Stable);

    fn boot(
        group: Group,
        config: &Self::Config,
        stable: Option<Self::Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let (of_mutex, of_election) = stable.unzip();
        let mutex = M::boot(group, &config.mutex, of_mutex, &mut lock(fx));
        let election = E::boot(group, &config.election, of_election, &mut leader(fx));
        SideBySide { mutex, election }
    }

    fn stable(&self) -> Self::Stable {
        (self.mutex.stable(), self.election.stable())
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Mutex(command) => self.mutex.on_command(command, &mut lock(fx)),
            Command::Election(command) => self.election.on_command(command, &mut leader(fx)),
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Self::Message, fx: &mut impl Effects<Self>) {
        match message {
            MutexOrElection::Mutex(message) => self.mutex.on_message(from, message, &mut lock(fx)),
            MutexOrElection::Election(message) => {
                self.election.on_message(from, message, &mut leader(fx))
            }
        }
    }

    fn on_timer(&mut self, timer: Self::Timer, fx: &mut impl Effects<Self>) {
        match timer {
            MutexOrElection::Mutex(timer) => self.mutex.on_timer(timer, &mut lock(fx)),
            MutexOrElection::Election(timer) => self.election.on_timer(timer, &mut leader(fx)),
        }
    }

    fn timer_role(timer: &Self::Timer) -> TimerRole {
        match timer {
            MutexOrElection::Mutex(timer) => M::timer_role(timer),
            MutexOrElection::Election(timer) => E::timer_role(timer),
        }
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        self.mutex.on_suspicion(peer, verdict, &mut lock(fx));
        self.election.on_suspicion(peer, verdict, &mut leader(fx));
    }
}

/// Returns the number of lost messages that an algorithm tolerates; `u32::MAX` if it tolerates any
/// number.
fn tolerated_losses(faults: &ToleratedFaults) -> u32 {
    if faults.loss { u32::MAX } else { faults.max_lost }
}

fn lock<M: Mutex, E: Election>(fx: &mut impl Effects<SideBySide<M, E>>) -> impl Effects<M> {
    fx.child_effects(MutexOrElection::Mutex, MutexOrElection::Mutex, |event| {
        Some(Event::Mutex(event))
    })
}

fn leader<M: Mutex, E: Election>(fx: &mut impl Effects<SideBySide<M, E>>) -> impl Effects<E> {
    fx.child_effects(MutexOrElection::Election, MutexOrElection::Election, |event| {
        Some(Event::Election(event))
    })
}

impl<M: Mutex + Algorithm, E: Election + Algorithm> Algorithm for SideBySide<M, E> {
    /// Returns the [`Card`] of the mutex and the election together. The card contains the promises
    /// and timeouts of both. The timing, the channel order, and the tolerated losses, duplications
    /// and crashes suit both. Other fields, such as the topology, the failure detector and the
    /// variants, are those of the mutex.
    fn card(config: &Self::Config, size: u32) -> Card {
        let mutex = M::card(&config.mutex, size);
        let election = E::card(&config.election, size);
        let mut faults = mutex.faults;
        faults.max_lost = tolerated_losses(&faults).min(tolerated_losses(&election.faults));
        faults.loss &= election.faults.loss;
        if faults.loss {
            faults.max_lost = 0;
        }
        faults.duplication &= election.faults.duplication;
        faults.crashes = CrashModel::min(faults.crashes, election.faults.crashes);
        let bounds = [faults.max_crashed, election.faults.max_crashed];
        faults.max_crashed = bounds.into_iter().flatten().min();
        faults.majority |= election.faults.majority;
        let clocked =
            [&mutex, &election].into_iter().filter(|card| !card.timed_promises.is_empty());
        let drift_ppm = clocked.map(|card| card.drift_ppm).min().unwrap_or(0);
        Card {
            name: format!("{} beside {}", mutex.name, election.name),
            title: format!("{}; beside it: {}", mutex.title, election.title),
            service: Service::MutexAndElection,
            strategy: AlgorithmClass::Composition,
            timing: mutex.timing.max(election.timing),
            order: ChannelOrder::max(mutex.order, election.order),
            faults,
            promises: mutex.promises.iter().chain(&election.promises).copied().collect(),
            timed_promises: mutex
                .timed_promises
                .iter()
                .chain(&election.timed_promises)
                .copied()
                .collect(),
            drift_ppm,
            timeouts: mutex.timeouts.iter().chain(&election.timeouts).copied().collect(),
            ..mutex
        }
    }
}
