//! Several named locks as one: taken one after the other, given back together.
//!
//! Who is inside has all the locks that its process names. Where everybody names them in one order,
//! say sorted, nobody waits for ever: whoever has the last of the locks that anybody has waits for
//! none that another has. In opposite orders two may each have what the other waits for, and
//! nothing ends that; the lock `edge-chasing` finds it out. None of them may end by itself, as a
//! lease does.

use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::{
    Algorithm, Card, Cost, Effects, Fence, Fixed, Group, Input, Mutex, Of, ProcessId, Protocol,
    TimerRole, Verdict,
};

use super::Keyed;
use super::keyed::Name;

/// One process of every lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InTurn<P: Mutex> {
    locks: Keyed<Name, P>,
    /// The locks that this process takes, in this order.
    names: Fixed<Vec<Name>>,
    /// How many of them it has.
    held: usize,
    /// The fence of the one that comes first in the alphabet.
    fence: Fence,
}

/// What is fixed for life.
#[derive(Clone, Debug)]
pub struct Config<C> {
    /// By process: which locks it takes, in this order. Nobody takes none, or one twice. Only who
    /// takes the same ones excludes each other and gets fences that increase.
    pub names: Arc<[Vec<Name>]>,
    /// The configuration of every lock.
    pub inner: C,
}

impl<P: Mutex> Protocol for InTurn<P> {
    type Config = Config<P::Config>;
    type Command = Command;
    type Event = Event;
    type Message = Of<Name, P::Message>;
    type Timer = Of<Name, P::Timer>;
    type Stable = <Keyed<Name, P> as Protocol>::Stable;

    fn boot(
        group: Group,
        config: &Self::Config,
        stable: Option<Self::Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let names = Fixed::new(config.names[group.me().index()].clone());
        assert!(!names.is_empty(), "a process takes at least one lock");
        let (locks, _) = fx.lift(
            |message| message,
            |timer| timer,
            |fx| Keyed::boot(group, &config.inner, stable, fx),
        );
        InTurn { locks, names, held: 0, fence: Fence(0, 0) }
    }

    fn stable(&self) -> Self::Stable {
        self.locks.stable()
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Enter => self.ask(0, command, fx),
            Command::Exit => {
                self.held = 0;
                fx.emit(Event::Exited);
                for place in 0..self.names.len() {
                    self.ask(place, command, fx);
                }
            }
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Self::Message, fx: &mut impl Effects<Self>) {
        self.tell(Input::Message { from, message }, fx);
    }

    fn on_timer(&mut self, timer: Self::Timer, fx: &mut impl Effects<Self>) {
        self.tell(Input::Timer(timer), fx);
    }

    fn timer_role(timer: &Self::Timer) -> TimerRole {
        P::timer_role(&timer.inner)
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        self.tell(Input::Suspicion { peer, verdict }, fx);
    }
}

impl<P: Mutex> InTurn<P> {
    fn ask(&mut self, place: usize, inner: Command, fx: &mut impl Effects<Self>) {
        let key = self.names[place].clone();
        self.tell(Input::Command(Of { key, inner }), fx);
    }

    fn tell(&mut self, input: Input<Keyed<Name, P>>, fx: &mut impl Effects<Self>) {
        let ((), news) = fx.lift(|message| message, |timer| timer, |fx| self.locks.step(input, fx));
        for Of { key, inner } in news {
            if let Event::Entered { fence } = inner {
                self.take(&key, fence, fx);
            }
        }
    }

    /// One more lock is here: on to the next one.
    fn take(&mut self, name: &Name, fence: Fence, fx: &mut impl Effects<Self>) {
        if self.names.iter().min() == Some(name) {
            self.fence = fence;
        }
        self.held += 1;
        if self.held < self.names.len() {
            self.ask(self.held, Command::Enter, fx);
        } else {
            fx.emit(Event::Entered { fence: self.fence });
        }
    }
}

impl<P: Mutex + Algorithm> Algorithm for InTurn<P> {
    fn card(config: &Self::Config, size: u32) -> Card {
        let mut card = P::card(&config.inner, size);
        let counts = config.names.iter().map(|names| names.len() as u64);
        let (least, most) = (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0));
        card.name = format!("in-turn:{}", card.name);
        card.title = format!("several locks by name, one after the other, each: {}", card.title);
        card.messages = Cost {
            formula: "for each lock what it costs by itself",
            least: card.messages.least * least,
            most: card.messages.most.map(|each| each * most),
            ..card.messages
        };
        card
    }
}
