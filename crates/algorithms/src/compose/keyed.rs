//! Many instances of one protocol over one connection, each under a key: named locks.
//!
//! An instance is booted when its key is first heard of, by a command or a message, and is
//! kept for life: a process's memory of a lock is what keeps it safe.

use alloc::collections::BTreeMap;
use alloc::format;
use core::fmt::Debug;
use core::hash::Hash;

use tenure_core::{
    Algorithm, Card, Effects, Fixed, Group, Of, ProcessId, ProcessSet, Protocol, TimerRole,
    Verdict, Wire,
};
pub use tenure_core::{Name, NameError};

/// What can name an instance.
pub trait Key: Clone + Debug + Eq + Hash + Ord + Wire + Send + Sync + 'static {}
impl<K: Clone + Debug + Eq + Hash + Ord + Wire + Send + Sync + 'static> Key for K {}

/// Spelled without a projection, so that deriving does not ask the configuration for equality.
type ConfigOf<P> = <P as Protocol>::Config;

/// One process of every instance.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Keyed<K: Key, P: Protocol> {
    group: Group,
    config: Fixed<ConfigOf<P>>,
    instances: BTreeMap<K, P>,
    /// Whom the failure detector suspects: news for instances that are booted later.
    suspected: ProcessSet,
}

impl<K: Key, P: Protocol> Protocol for Keyed<K, P> {
    type Config = P::Config;
    type Command = Of<K, P::Command>;
    type Event = Of<K, P::Event>;
    type Message = Of<K, P::Message>;
    type Timer = Of<K, P::Timer>;
    type Stable = BTreeMap<K, P::Stable>;

    fn boot(
        group: Group,
        config: &P::Config,
        stable: Option<Self::Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let mut keyed = Keyed {
            group,
            config: Fixed::new(config.clone()),
            instances: BTreeMap::new(),
            suspected: ProcessSet::new(),
        };
        for (key, stable) in stable.into_iter().flatten() {
            keyed.boot_instance(key, Some(stable), fx);
        }
        keyed
    }

    fn stable(&self) -> Self::Stable {
        self.instances.iter().map(|(key, inner)| (key.clone(), inner.stable())).collect()
    }

    fn on_command(&mut self, command: Self::Command, fx: &mut impl Effects<Self>) {
        let inner = self.instance(&command.key, fx);
        inner.on_command(command.inner, &mut under(&command.key, fx));
    }

    fn on_message(&mut self, from: ProcessId, message: Self::Message, fx: &mut impl Effects<Self>) {
        let inner = self.instance(&message.key, fx);
        inner.on_message(from, message.inner, &mut under(&message.key, fx));
    }

    fn on_timer(&mut self, timer: Self::Timer, fx: &mut impl Effects<Self>) {
        let inner = self.instance(&timer.key, fx);
        inner.on_timer(timer.inner, &mut under(&timer.key, fx));
    }

    fn timer_role(timer: &Self::Timer) -> TimerRole {
        P::timer_role(&timer.inner)
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        match verdict {
            Verdict::Suspect => self.suspected.insert(peer),
            Verdict::Trust => self.suspected.remove(peer),
        };
        for (key, inner) in &mut self.instances {
            inner.on_suspicion(peer, verdict, &mut under(key, fx));
        }
    }
}

impl<K: Key, P: Protocol> Keyed<K, P> {
    /// The instance under a key, booted now if it was not before.
    fn instance(&mut self, key: &K, fx: &mut impl Effects<Self>) -> &mut P {
        if !self.instances.contains_key(key) {
            self.boot_instance(key.clone(), None, fx);
        }
        self.instances.get_mut(key).expect("it was booted just now")
    }

    fn boot_instance(&mut self, key: K, stable: Option<P::Stable>, fx: &mut impl Effects<Self>) {
        let mut inner = P::boot(self.group, &self.config, stable, &mut under(&key, fx));
        for peer in &self.suspected {
            inner.on_suspicion(peer, Verdict::Suspect, &mut under(&key, fx));
        }
        self.instances.insert(key, inner);
    }
}

/// The effects of the instance under a key.
fn under<'a, K: Key, P: Protocol>(
    key: &'a K,
    fx: &'a mut impl Effects<Keyed<K, P>>,
) -> impl Effects<P> + 'a {
    fx.wrap(
        |inner| Of { key: key.clone(), inner },
        |inner| Of { key: key.clone(), inner },
        |inner| Some(Of { key: key.clone(), inner }),
    )
}

impl<K: Key, P: Algorithm> Algorithm for Keyed<K, P> {
    fn card(config: &P::Config, size: u32) -> Card {
        let mut card = P::card(config, size);
        card.name = format!("keyed:{}", card.name);
        card.title = format!("many locks by name, each: {}", card.title);
        card
    }
}
