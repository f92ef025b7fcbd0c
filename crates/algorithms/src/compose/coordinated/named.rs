//! Many locks at one leader, each by its name: one election, and one set of connections, for all.
//!
//! Each lock is a [`Coordinated`] with queue, tickets and fences of its own, to which an election
//! that is held [`Elsewhere`] tells who leads. So whatever is shown of one lock holds of each, and
//! locks of different names know nothing of each other. An entry costs what it costs there; a
//! change of leader costs that for each name that was ever used.
//!
//! A lock is there from when its name is first heard of, by a command or in a message, and for
//! life: then it is told whom its process suspects and who leads. A leader that hears of it so asks
//! everybody about it before it grants, as at a change of leader. One that never heard of it asks
//! nobody, so whoever waits asks a new leader by itself. Nothing of it is saved. What tells its
//! requests from those before a crash is the number of this boot, which all locks share.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use tenure_core::service::led::{Command, Event};
use tenure_core::service::{election, mutex, office};
use tenure_core::{
    Algorithm, Card, Effects, Election, Fixed, Group, Input, Label, Labelled, Name, Never, Of,
    ProcessId, ProcessSet, Protocol, Term, TimerRole, Verdict,
};

use super::{Config, Coordinated, Stable};
use crate::mutex::Times;

/// One process of every lock, and of the election that they share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Named<E: Election> {
    group: Group,
    /// How often this process has booted.
    boots: u64,
    times: Fixed<Option<Times>>,
    election: E,
    /// The highest term that the election told of.
    term: Option<Term>,
    /// Whether the leader of `term` may be relied on.
    led: bool,
    suspected: ProcessSet,
    locks: BTreeMap<Name, Coordinated<Elsewhere>>,
}

/// An election that is held elsewhere: whoever holds it tells what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Elsewhere;

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message<E> {
    /// Of the election.
    Election(E),
    /// Of a lock.
    Lock(Of<Name, super::Message<Never>>),
}

impl<E: Labelled> Labelled for Message<E> {
    fn label(&self) -> Label {
        match self {
            Message::Election(message) => message.label(),
            Message::Lock(message) => message.label(),
        }
    }
}

/// The timers of all.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer<T> {
    /// Of the election.
    Election(T),
    /// Of a lock.
    Lock(Of<Name, super::Timer<Never>>),
}

impl<E: Election> Protocol for Named<E> {
    type Config = Config<E::Config>;
    type Command = Command<Of<Name, mutex::Command>>;
    type Event = Event<Of<Name, mutex::Event>>;
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
        let (election, news) = fx.lift(Message::Election, Timer::Election, |fx| {
            E::boot(group, &config.election, stable, fx)
        });
        let mut named = Named {
            group,
            boots: boots + 1,
            times: Fixed::new(config.times),
            election,
            term: None,
            led: false,
            suspected: ProcessSet::new(),
            locks: BTreeMap::new(),
        };
        named.learn(news, fx);
        named
    }

    fn stable(&self) -> Self::Stable {
        Stable { boots: self.boots, election: self.election.stable() }
    }

    fn unsaved(&self, saved: &Self::Stable) -> Option<Self::Stable> {
        match self.election.unsaved(&saved.election) {
            Some(election) => Some(Stable { boots: self.boots, election }),
            None => (self.boots != saved.boots).then(|| self.stable()),
        }
    }

    fn amend(saved: &mut Self::Stable, change: Self::Stable) {
        saved.boots = change.boots;
        E::amend(&mut saved.election, change.election);
    }

    fn on_command(&mut self, command: Self::Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Application(Of { key, inner }) => {
                let lock = self.lock(&key, fx);
                lock.on_command(office::Command::Mutex(inner), &mut under(&key, fx));
                // Whoever is elected will inquire.
                if inner == mutex::Command::Enter && !lock.led {
                    self.tell_election(Input::Command(election::Command::Elect), fx);
                }
            }
            Command::Election(command) => self.tell_election(Input::Command(command), fx),
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Self::Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Election(message) => self.tell_election(Input::Message { from, message }, fx),
            Message::Lock(Of { key, inner }) => {
                self.lock(&key, fx).on_message(from, inner, &mut under(&key, fx));
            }
        }
    }

    fn on_timer(&mut self, timer: Self::Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Election(timer) => self.tell_election(Input::Timer(timer), fx),
            Timer::Lock(Of { key, inner }) => {
                self.lock(&key, fx).on_timer(inner, &mut under(&key, fx));
            }
        }
    }

    fn timer_role(timer: &Self::Timer) -> TimerRole {
        match timer {
            Timer::Election(timer) => E::timer_role(timer),
            Timer::Lock(timer) => Coordinated::<Elsewhere>::timer_role(&timer.inner),
        }
    }

    /// In the order of one lock: who comes to lead by it knows whom not to wait for.
    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        match verdict {
            Verdict::Suspect => self.suspected.insert(peer),
            Verdict::Trust => self.suspected.remove(peer),
        };
        self.locks.values_mut().for_each(|lock| lock.mind(peer, verdict));
        self.tell_election(Input::Suspicion { peer, verdict }, fx);
        for (name, lock) in &mut self.locks {
            lock.react(peer, verdict, &mut under(name, fx));
        }
    }
}

impl<E: Election> Named<E> {
    /// The lock of a name, booted now if it was not before.
    fn lock(&mut self, name: &Name, fx: &mut impl Effects<Self>) -> &mut Coordinated<Elsewhere> {
        if !self.locks.contains_key(name) {
            let lock = self.booted(&mut under(name, fx));
            self.locks.insert(name.clone(), lock);
        }
        self.locks.get_mut(name).expect("it was booted just now")
    }

    /// A lock that knows what all of them know.
    fn booted(&self, fx: &mut impl Effects<Coordinated<Elsewhere>>) -> Coordinated<Elsewhere> {
        let config = Config { election: (), times: *self.times };
        let stable = Stable { boots: self.boots - 1, election: () };
        let mut lock = Coordinated::boot(self.group, &config, Some(stable), fx);
        lock.suspected = self.suspected.clone();
        match self.term {
            Some(term) if self.led => {
                lock.learn(vec![election::Event::Elected { leader: term.leader, term }], fx);
            }
            known => lock.term = known,
        }
        lock
    }

    fn tell_election(&mut self, input: Input<E>, fx: &mut impl Effects<Self>) {
        let (_, news) =
            fx.lift(Message::Election, Timer::Election, |fx| self.election.step(input, fx));
        self.learn(news, fx);
    }

    fn learn(&mut self, news: Vec<election::Event>, fx: &mut impl Effects<Self>) {
        for event in news {
            fx.emit(Event::Election(event));
            match event {
                election::Event::Elected { term, .. } if self.term <= Some(term) => {
                    (self.term, self.led) = (Some(term), true);
                }
                election::Event::Deposed { term } if self.term == Some(term) => self.led = false,
                election::Event::Elected { .. } | election::Event::Deposed { .. } => {}
            }
            for (name, lock) in &mut self.locks {
                let before = lock.term;
                lock.learn(vec![event], &mut under(name, fx));
                if lock.term != before {
                    lock.introduce(&mut under(name, fx));
                }
            }
        }
    }
}

/// The effects of the lock of a name. Who leads is told once, and not by every lock.
fn under<'a, E: Election>(
    name: &'a Name,
    fx: &'a mut impl Effects<Named<E>>,
) -> impl Effects<Coordinated<Elsewhere>> + 'a {
    fx.wrap(
        |inner| Message::Lock(Of { key: name.clone(), inner }),
        |inner| Timer::Lock(Of { key: name.clone(), inner }),
        |event| match event {
            office::Event::Mutex(inner) => {
                Some(Event::Application(Of { key: name.clone(), inner }))
            }
            office::Event::Election(_) => None,
        },
    )
}

impl<E: Election + Algorithm> Algorithm for Named<E> {
    fn card(config: &Self::Config, size: u32) -> Card {
        let mut card = Coordinated::<E>::card(config, size);
        card.name = format!("named:{}", card.name);
        card.title = format!("many locks by name, each: {}", card.title);
        card
    }

    fn highest_term(&self) -> u64 {
        self.election.highest_term()
    }
}

impl Protocol for Elsewhere {
    type Config = ();
    type Command = election::Command;
    type Event = election::Event;
    type Message = Never;
    type Timer = Never;
    type Stable = ();

    fn boot(_: Group, (): &(), _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        Elsewhere
    }

    fn stable(&self) {}

    fn on_command(&mut self, _: election::Command, _: &mut impl Effects<Self>) {}

    fn on_message(&mut self, _: ProcessId, message: Never, _: &mut impl Effects<Self>) {
        match message {}
    }

    fn on_timer(&mut self, timer: Never, _: &mut impl Effects<Self>) {
        match timer {}
    }

    fn on_suspicion(&mut self, _: ProcessId, _: Verdict, _: &mut impl Effects<Self>) {}
}
