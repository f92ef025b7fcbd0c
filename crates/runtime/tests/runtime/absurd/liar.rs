//! A member that lies: it does what its algorithm says, and with what it sends it tells lies.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use fastrand::Rng;
use tenure_core::{
    Delay, Effects, Group, Labelled, LocalTime, ProcessId, ProcessSet, Protocol, TimerRole, Verdict,
};
use tenure_runtime::Plausible;

use super::SIZE;
use super::mutation::lies;

/// How many lies go with one message.
const AT_ONCE: usize = 3;

/// What a liar has told so far, and how much it may.
#[derive(Clone, Debug)]
pub(super) struct Tongue(Arc<Mutex<Said>>);

#[derive(Debug)]
struct Said {
    rng: Rng,
    most: usize,
    /// The kind of message, the place in it, and which of all that could be said there.
    told: BTreeSet<(&'static str, usize, usize)>,
}

impl Tongue {
    pub(super) fn new(seed: u64, most: usize) -> Self {
        let said = Said { rng: Rng::with_seed(seed), most, told: BTreeSet::new() };
        Tongue(Arc::new(Mutex::new(said)))
    }

    fn said<R>(&self, with: impl FnOnce(&mut Said) -> R) -> R {
        with(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How many lies were told.
    pub(super) fn told(&self) -> usize {
        self.said(|said| said.told.len())
    }

    /// How many kinds of messages, and how many places in them, were lied about.
    pub(super) fn reach(&self) -> (usize, usize) {
        self.said(|said| {
            let kinds: BTreeSet<_> = said.told.iter().map(|(kind, ..)| kind).collect();
            let places: BTreeSet<_> = said.told.iter().map(|(kind, at, _)| (kind, at)).collect();
            (kinds.len(), places.len())
        })
    }
}

impl Said {
    /// Lies that go with this message, none of which was told before. What can be believed is told
    /// seldom: it may be the last that anybody does before a restart.
    fn with<P: Protocol>(&mut self, message: &P::Message) -> Vec<P::Message> {
        let kind = message.label().kind;
        let mut all = lies(message);
        self.rng.shuffle(&mut all);
        let mut chosen = Vec::new();
        for lie in all {
            if chosen.len() == AT_ONCE || self.told.len() >= self.most {
                break;
            }
            let believable = Plausible::new(SIZE).hear(&lie.message).is_ok();
            if believable && self.rng.u8(0..100) > 0 {
                continue;
            }
            let (place, which) = lie.place;
            if self.told.insert((kind, place, which)) {
                chosen.push(lie.message);
            }
        }
        chosen
    }
}

/// A process that lies.
#[derive(Clone, Debug)]
pub(super) struct Liar<P> {
    honest: P,
    tongue: Tongue,
}

impl<P: PartialEq> PartialEq for Liar<P> {
    fn eq(&self, other: &Self) -> bool {
        self.honest == other.honest
    }
}

impl<P: Eq> Eq for Liar<P> {}

impl<P: Hash> Hash for Liar<P> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.honest.hash(hasher);
    }
}

impl<P: Protocol> Protocol for Liar<P> {
    type Config = (P::Config, Tongue);
    type Command = P::Command;
    type Event = P::Event;
    type Message = P::Message;
    type Timer = P::Timer;
    type Stable = P::Stable;

    fn boot(
        group: Group,
        (config, tongue): &Self::Config,
        stable: Option<P::Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let tongue = tongue.clone();
        Liar { honest: P::boot(group, config, stable, &mut Lying(fx, tongue.clone())), tongue }
    }

    fn stable(&self) -> P::Stable {
        self.honest.stable()
    }

    fn on_command(&mut self, command: P::Command, fx: &mut impl Effects<Self>) {
        self.honest.on_command(command, &mut Lying(fx, self.tongue.clone()));
    }

    fn on_message(&mut self, from: ProcessId, message: P::Message, fx: &mut impl Effects<Self>) {
        self.honest.on_message(from, message, &mut Lying(fx, self.tongue.clone()));
    }

    fn on_timer(&mut self, timer: P::Timer, fx: &mut impl Effects<Self>) {
        self.honest.on_timer(timer, &mut Lying(fx, self.tongue.clone()));
    }

    fn timer_role(timer: &P::Timer) -> TimerRole {
        P::timer_role(timer)
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        self.honest.on_suspicion(peer, verdict, &mut Lying(fx, self.tongue.clone()));
    }
}

/// The effects of the honest process, and lies among them.
struct Lying<'a, E>(&'a mut E, Tongue);

impl<P: Protocol, E: Effects<Liar<P>>> Effects<P> for Lying<'_, E> {
    fn send(&mut self, to: ProcessId, message: P::Message) {
        for lie in self.1.said(|said| said.with::<P>(&message)) {
            self.0.send(to, lie);
        }
        self.0.send(to, message);
    }

    fn broadcast(&mut self, to: &ProcessSet, message: P::Message) {
        to.iter().for_each(|peer| self.send(peer, message.clone()));
    }

    fn set_timer(&mut self, timer: P::Timer, after: Delay) {
        self.0.set_timer(timer, after);
    }

    fn cancel_timer(&mut self, timer: P::Timer) {
        self.0.cancel_timer(timer);
    }

    fn emit(&mut self, event: P::Event) {
        self.0.emit(event);
    }

    fn choose(&mut self, bound: u32) -> u32 {
        self.0.choose(bound)
    }

    fn local_clock(&mut self) -> LocalTime {
        self.0.local_clock()
    }
}
