//! Named locks at one leader. Each of them behaves like a single lock at a leader, in every
//! schedule with crashes and recoveries. Requests with equal names concern the same lock.

use tenure_algorithms::compose::coordinated::named_locks;
use tenure_algorithms::compose::{NamedLocks, coordinated};
use tenure_algorithms::election::{FaultTolerantChangRoberts, repaired_chang_roberts};
use tenure_check::{Check, Checkable};
use tenure_core::monitors::{Fencing, MutualExclusion};
use tenure_core::service::{mutex, with_election};
use tenure_core::{
    Algorithm, Card, Effects, Election, Group, LockName, Mutex, PeerVerdict, ProcessId, Protocol,
    Tagged, TimerRole,
};

use crate::catalogue::violates;
use crate::elections::ranks;
use crate::verdicts::states;

/// A process with many named locks. The user of the process knows only the lock with the name
/// `name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SingleNameUser<E: Election> {
    locks: NamedLocks<E>,
    name: LockName,
}

#[derive(Clone, Debug)]
struct Config<C> {
    /// For each process, by index: the name of the lock that it uses.
    names: Vec<LockName>,
    locks: coordinated::Config<C>,
}

impl<E: Election> Protocol for SingleNameUser<E> {
    type Config = Config<E::Config>;
    type Command = mutex::Command;
    type Event = mutex::Event;
    type Message = named_locks::Message<E::Message>;
    type Timer = named_locks::Timer<E::Timer>;
    type Stable = <NamedLocks<E> as Protocol>::Stable;

    fn boot(
        group: Group,
        config: &Self::Config,
        stable: Option<Self::Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let locks = NamedLocks::boot(group, &config.locks, stable, &mut inside(fx));
        SingleNameUser { locks, name: config.names[group.me().index()].clone() }
    }

    fn stable(&self) -> Self::Stable {
        self.locks.stable()
    }

    fn on_command(&mut self, inner: mutex::Command, fx: &mut impl Effects<Self>) {
        let command = with_election::Command::Application(Tagged { key: self.name.clone(), inner });
        self.locks.on_command(command, &mut inside(fx));
    }

    fn on_message(&mut self, from: ProcessId, message: Self::Message, fx: &mut impl Effects<Self>) {
        self.locks.on_message(from, message, &mut inside(fx));
    }

    fn on_timer(&mut self, timer: Self::Timer, fx: &mut impl Effects<Self>) {
        self.locks.on_timer(timer, &mut inside(fx));
    }

    fn timer_role(timer: &Self::Timer) -> TimerRole {
        NamedLocks::<E>::timer_role(timer)
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        self.locks.on_suspicion(peer, verdict, &mut inside(fx));
    }
}

fn inside<E: Election>(fx: &mut impl Effects<SingleNameUser<E>>) -> impl Effects<NamedLocks<E>> {
    fx.child_effects(
        |message| message,
        |timer| timer,
        |event| match event {
            with_election::Event::Application(Tagged { inner, .. }) => Some(inner),
            with_election::Event::Election(_) => None,
        },
    )
}

impl<E: Election + Algorithm> Algorithm for SingleNameUser<E> {
    fn card(config: &Self::Config, size: u32) -> Card {
        NamedLocks::<E>::card(&config.locks, size)
    }

    fn highest_term(&self) -> u64 {
        self.locks.highest_term()
    }
}

type AtLeader = FaultTolerantChangRoberts;

fn election() -> repaired_chang_roberts::Config {
    repaired_chang_roberts::Config::with_ranks(ranks(&[1, 2]))
}

fn named(names: [&str; 2]) -> Check<SingleNameUser<AtLeader>> {
    let names = names.map(|name| LockName::new(name).unwrap()).to_vec();
    with_properties(Check::with_protocol_config(2, Config { names, locks: election().into() }))
}

fn with_properties<P: Mutex + Checkable>(check: Check<P>) -> Check<P> {
    let check = check.fifo().detecting_failures().in_flight_per_link(8);
    check.always(MutualExclusion::new()).always(Fencing::new())
}

/// A named lock exists as soon as a process requests its name. The leader need not know the name
/// before. The lock is safe and live in all states. The test also asserts the numbers of states.
#[test]
fn named_lock_is_safe_and_live_with_recovery() {
    let same = || named(["a", "a"]).check_starvation_freedom();
    let crashing = || same().max_crashes(1);
    let all = [same(), crashing(), crashing().max_recoveries(1).max_term(4)].map(states);
    assert_eq!(all, [48, 219, 7206]);
}

/// Two different names are two locks, so two processes may hold them at the same time.
#[test]
fn different_names_are_independent_locks() {
    violates(&named(["a", "b"]).run(), "mutual-exclusion");
}
