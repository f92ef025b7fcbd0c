//! Turns a protocol that combines a lock and an election into a lock.

use tenure_core::service::{mutex, mutex_and_election};
use tenure_core::{
    Algorithm, Card, Effects, Group, MutexAndElection, PeerVerdict, ProcessId, Protocol, Service,
    TimerRole,
};

/// State of one process of the protocol `P`. `P` offers a lock and an election, but the local user
/// sees only the lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MutexOnly<P: MutexAndElection>(P);

impl<P: MutexAndElection> Protocol for MutexOnly<P> {
    type Config = P::Config;
    type Command = mutex::Command;
    type Event = mutex::Event;
    type Message = P::Message;
    type Timer = P::Timer;
    type Stable = P::Stable;

    fn boot(
        group: Group,
        config: &P::Config,
        stable: Option<P::Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        MutexOnly(P::boot(group, config, stable, &mut mutex_effects(fx)))
    }

    fn stable(&self) -> P::Stable {
        self.0.stable()
    }

    fn on_command(&mut self, command: mutex::Command, fx: &mut impl Effects<Self>) {
        self.0.on_command(mutex_and_election::Command::Mutex(command), &mut mutex_effects(fx));
    }

    fn on_message(&mut self, from: ProcessId, message: P::Message, fx: &mut impl Effects<Self>) {
        self.0.on_message(from, message, &mut mutex_effects(fx));
    }

    fn on_timer(&mut self, timer: P::Timer, fx: &mut impl Effects<Self>) {
        self.0.on_timer(timer, &mut mutex_effects(fx));
    }

    fn timer_role(timer: &P::Timer) -> TimerRole {
        P::timer_role(timer)
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        self.0.on_suspicion(peer, verdict, &mut mutex_effects(fx));
    }
}

impl<P: MutexAndElection> MutexOnly<P> {
    /// Returns the protocol that combines the lock and the election.
    pub fn mutex_and_election(&self) -> &P {
        &self.0
    }
}

fn mutex_effects<P: MutexAndElection>(fx: &mut impl Effects<MutexOnly<P>>) -> impl Effects<P> {
    fx.child_effects(
        |message| message,
        |timer| timer,
        |event| match event {
            mutex_and_election::Event::Mutex(event) => Some(event),
            mutex_and_election::Event::Election(_) => None,
        },
    )
}

impl<P: MutexAndElection + Algorithm> Algorithm for MutexOnly<P> {
    fn card(config: &P::Config, size: u32) -> Card {
        let mut card = P::card(config, size);
        card.service = Service::Mutex;
        for promised in [&mut card.promises, &mut card.timed_promises] {
            promised.retain(|promise| promise.applies_to(Service::Mutex));
        }
        card
    }

    fn highest_term(&self) -> u64 {
        self.mutex_and_election().highest_term()
    }
}
