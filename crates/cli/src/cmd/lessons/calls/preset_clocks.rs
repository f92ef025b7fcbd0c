//! Ricart and Agrawala's lock, with given initial values of the logical clocks.

use tenure_algorithms::mutex::{RicartAgrawala, ricart_agrawala};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Effects, ExposesLogicalClock, Group, PeerVerdict, ProcessId, Protocol};

type Lock = RicartAgrawala;

/// The lock of Ricart and Agrawala with logical clocks that need not start at 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PresetClocks(Lock);

macro_rules! inner {
    ($fx:ident) => {
        &mut $fx.child_effects::<Lock, _, _, _>(|message| message, |timer| timer, Some)
    };
}

impl Protocol for PresetClocks {
    /// Initial values of the logical clocks, in the order of the processes.
    type Config = Vec<u64>;
    type Command = Command;
    type Event = Event;
    type Message = <Lock as Protocol>::Message;
    type Timer = <Lock as Protocol>::Timer;
    type Stable = ();

    fn boot(group: Group, clocks: &Vec<u64>, _: Option<()>, fx: &mut impl Effects<Self>) -> Self {
        let config = ricart_agrawala::Config::default();
        let mut lock = Lock::boot(group, &config, None, inner!(fx));
        lock.observe(clocks[group.me().index()]);
        PresetClocks(lock)
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        self.0.on_command(command, inner!(fx));
    }

    fn on_message(&mut self, from: ProcessId, message: Self::Message, fx: &mut impl Effects<Self>) {
        self.0.on_message(from, message, inner!(fx));
    }

    fn on_timer(&mut self, timer: Self::Timer, fx: &mut impl Effects<Self>) {
        self.0.on_timer(timer, inner!(fx));
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        self.0.on_suspicion(peer, verdict, inner!(fx));
    }
}
