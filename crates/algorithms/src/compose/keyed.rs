//! Many instances of one protocol over one connection, for example many named locks. Each instance
//! has a key.
//!
//! An instance is booted when its key first appears in a command or a message. The instance is kept
//! forever, because a lock that forgot its holder could be granted a second time.

use alloc::collections::BTreeMap;
use alloc::format;
use core::fmt::Debug;
use core::hash::Hash;

use tenure_core::{
    Algorithm, Card, Effects, Group, PeerVerdict, ProcessId, ProcessSet, Protocol, Tagged,
    TimerRole, UncomparedConfig, Wire,
};
pub use tenure_core::{LockName, LockNameError};

/// Type of keys, each of which identifies one instance of a protocol.
pub trait InstanceKey: Clone + Debug + Eq + Hash + Ord + Wire + Send + Sync + 'static {}
impl<K: Clone + Debug + Eq + Hash + Ord + Wire + Send + Sync + 'static> InstanceKey for K {}

/// Configuration of `P`. Without this alias, a derive macro would see the associated type
/// `P::Config` in a field of [`Keyed`]. The macro would then require that `P::Config` implements
/// the derived trait.
type ConfigOf<P> = <P as Protocol>::Config;

/// State of one process: its part in every instance.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Keyed<K: InstanceKey, P: Protocol> {
    group: Group,
    config: UncomparedConfig<ConfigOf<P>>,
    instances: BTreeMap<K, P>,
    /// Processes that the failure detector suspects. A new instance is informed of these
    /// suspicions.
    suspected: ProcessSet,
}

impl<K: InstanceKey, P: Protocol> Protocol for Keyed<K, P> {
    type Config = P::Config;
    type Command = Tagged<K, P::Command>;
    type Event = Tagged<K, P::Event>;
    type Message = Tagged<K, P::Message>;
    type Timer = Tagged<K, P::Timer>;
    type Stable = BTreeMap<K, P::Stable>;

    fn boot(
        group: Group,
        config: &P::Config,
        stable: Option<Self::Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let mut keyed = Keyed {
            group,
            config: UncomparedConfig::new(config.clone()),
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
        inner.on_command(command.inner, &mut keyed_effects(&command.key, fx));
    }

    fn on_message(&mut self, from: ProcessId, message: Self::Message, fx: &mut impl Effects<Self>) {
        let inner = self.instance(&message.key, fx);
        inner.on_message(from, message.inner, &mut keyed_effects(&message.key, fx));
    }

    fn on_timer(&mut self, timer: Self::Timer, fx: &mut impl Effects<Self>) {
        let inner = self.instance(&timer.key, fx);
        inner.on_timer(timer.inner, &mut keyed_effects(&timer.key, fx));
    }

    fn timer_role(timer: &Self::Timer) -> TimerRole {
        P::timer_role(&timer.inner)
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        match verdict {
            PeerVerdict::Suspect => self.suspected.insert(peer),
            PeerVerdict::Trust => self.suspected.remove(peer),
        };
        for (key, inner) in &mut self.instances {
            inner.on_suspicion(peer, verdict, &mut keyed_effects(key, fx));
        }
    }
}

impl<K: InstanceKey, P: Protocol> Keyed<K, P> {
    /// Returns the instance with this key, and boots it first if it does not exist.
    fn instance(&mut self, key: &K, fx: &mut impl Effects<Self>) -> &mut P {
        if !self.instances.contains_key(key) {
            self.boot_instance(key.clone(), None, fx);
        }
        self.instances.get_mut(key).expect("the instance was just booted")
    }

    fn boot_instance(&mut self, key: K, stable: Option<P::Stable>, fx: &mut impl Effects<Self>) {
        let mut inner = P::boot(self.group, &self.config, stable, &mut keyed_effects(&key, fx));
        for peer in &self.suspected {
            inner.on_suspicion(peer, PeerVerdict::Suspect, &mut keyed_effects(&key, fx));
        }
        self.instances.insert(key, inner);
    }
}

/// Returns the effects sink for the instance with this key. The sink adds the key to the messages,
/// timers and events of the instance.
fn keyed_effects<'a, K: InstanceKey, P: Protocol>(
    key: &'a K,
    fx: &'a mut impl Effects<Keyed<K, P>>,
) -> impl Effects<P> + 'a {
    fx.child_effects(
        |inner| Tagged { key: key.clone(), inner },
        |inner| Tagged { key: key.clone(), inner },
        |inner| Some(Tagged { key: key.clone(), inner }),
    )
}

impl<K: InstanceKey, P: Algorithm> Algorithm for Keyed<K, P> {
    fn card(config: &P::Config, size: u32) -> Card {
        let mut card = P::card(config, size);
        card.name = format!("keyed:{}", card.name);
        card.title = format!("many locks by name, each: {}", card.title);
        card
    }
}
