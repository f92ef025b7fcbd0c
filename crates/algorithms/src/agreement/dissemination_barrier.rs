//! The dissemination barrier: all hear of all in ⌈log₂ N⌉ steps, and nobody is in the middle.
//!
//! D. Hensgen, R. Finkel, U. Manber, *Two algorithms for barrier synchronization*, International
//! Journal of Parallel Programming 17(1), 1988.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, channels in any order, nothing lost, no crash; duplicates do no harm |
//! | messages per round | N⌈log₂ N⌉ |
//! | delay from the last arrival | ⌈log₂ N⌉ messages |
//!
//! **Why it is right.** In step k, from 0, everybody signals to the process 2ᵏ places further on
//! the ring of ids, and waits for the signal of the one 2ᵏ places back. It signals in a step only
//! when it has been signalled in all before. So a signal of step k says that the 2ᵏ processes that
//! end with its sender have arrived, by induction: its sender has heard so of the half that ends
//! with itself, and of the half before that. After the last step these are all.
//!
//! Whoever has left may arrive in the next round while others still wait, but nobody leaves that
//! round before they have arrived in it: so a signal is of the receiver's round, of the one after,
//! or late. The paper tells two rounds apart by two sets of flags in shared memory. Here signals
//! are messages, which may come twice and late, and say the number of their round.

use tenure_core::service::barrier::{Command, Event};
use tenure_core::theory::Theory;
use tenure_core::{
    Algorithm, Card, Cost, Effects, Faults, Group, Never, ProcessId, Property, Protocol, Service,
    Strategy, labelled,
};

use crate::variants::{Variants, switches};

/// One process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DisseminationBarrier {
    group: Group,
    variants: Variants<Switch>,
    /// The round that we wait in, or shall arrive in next.
    round: u64,
    phase: Phase,
    /// In which steps of this round we were signalled, as bits.
    heard: u32,
    /// The same of the next round: others may be there already.
    ahead: u32,
}

/// Where the local user stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Elsewhere,
    /// We have signalled in this step, and were signalled in all before.
    Waiting {
        step: u32,
    },
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "I have arrived, and so have those of whom I heard in the steps before."
    Signal {
        /// In which round.
        round: u64,
        /// The step, from 0.
        step: u32,
    },
}

labelled!(Message, Agreement, Signal => "signal");

switches! {
    LeavesEarly = "leaves-early", unsound,
        "a process leaves one step before the last"
        => "", "-n 2";
    AllAtOnce = "all-at-once", unsound,
        "whoever arrives signals in all steps at once, so that signals say nothing of others"
        => "", "-n 4";
    NoRounds = "no-rounds", unsound,
        "signals say no round: one that comes twice counts in the next"
        => "", "-n 2 --entries 2 --duplicate 1";
}

impl Protocol for DisseminationBarrier {
    type Config = Variants<Switch>;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(
        group: Group,
        variants: &Variants<Switch>,
        _: Option<()>,
        _: &mut impl Effects<Self>,
    ) -> Self {
        DisseminationBarrier {
            group,
            variants: *variants,
            round: 1,
            phase: Phase::Elsewhere,
            heard: 0,
            ahead: 0,
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        let Command::Arrive = command;
        assert!(self.phase == Phase::Elsewhere, "a process arrives when it does not wait");
        if self.variants.has(Switch::AllAtOnce) {
            (0..self.steps()).for_each(|step| self.signal(step, fx));
        }
        self.begin_step(0, fx);
        self.go_on(fx);
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        let Message::Signal { round, step } = message;
        if step >= steps(self.group.size()) || self.further(from, step) != self.group.me() {
            return;
        }
        if round == self.round || self.variants.has(Switch::NoRounds) {
            self.heard |= 1 << step;
            self.go_on(fx);
        } else if round == self.round + 1 {
            self.ahead |= 1 << step;
        }
    }
}

impl DisseminationBarrier {
    /// Goes through the steps in which we were signalled, and leaves after the last.
    fn go_on(&mut self, fx: &mut impl Effects<Self>) {
        while let Phase::Waiting { step } = self.phase {
            if step == self.steps() {
                self.leave(fx);
            } else if self.heard & (1 << step) != 0 {
                self.begin_step(step + 1, fx);
            } else {
                return;
            }
        }
    }

    fn begin_step(&mut self, step: u32, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Waiting { step };
        if step < self.steps() && !self.variants.has(Switch::AllAtOnce) {
            self.signal(step, fx);
        }
    }

    fn signal(&self, step: u32, fx: &mut impl Effects<Self>) {
        let to = self.further(self.group.me(), step);
        fx.send(to, Message::Signal { round: self.round, step });
    }

    fn leave(&mut self, fx: &mut impl Effects<Self>) {
        fx.emit(Event::Left { round: self.round });
        self.phase = Phase::Elsewhere;
        self.round += 1;
        (self.heard, self.ahead) = (self.ahead, 0);
    }

    /// In how many steps we wait.
    fn steps(&self) -> u32 {
        let all = steps(self.group.size());
        if self.variants.has(Switch::LeavesEarly) { all.saturating_sub(1) } else { all }
    }

    /// Who is 2ᵏ places further on the ring than `from`.
    fn further(&self, from: ProcessId, step: u32) -> ProcessId {
        let size = u64::from(self.group.size());
        let place = (u64::from(from.0) + (1 << step)) % size;
        ProcessId::at(usize::try_from(place).expect("a place in a group"))
    }
}

impl Algorithm for DisseminationBarrier {
    fn card(_: &Variants<Switch>, size: u32) -> Card {
        let messages = u64::from(size) * u64::from(steps(size));
        Card {
            strategy: Strategy::Flooding,
            faults: Faults::duplication("survives duplicates; a lost signal or a crash stops all"),
            messages: Cost::per_agreement("N⌈log₂ N⌉", messages, Some(messages)),
            theory: Some(Theory::agreement("⌈log₂ N⌉", steps(size))),
            variants: Variants::<Switch>::declared(),
            ..Card::agreement(
                Service::Barrier,
                "dissemination-barrier",
                "all hear of all in ⌈log₂ N⌉ steps",
                "Hensgen, Finkel and Manber, Int. J. Parallel Programming 17(1), 1988",
            )
            .promising([Property::AllArrive])
        }
    }
}

/// ⌈log₂ N⌉.
const fn steps(size: u32) -> u32 {
    size.next_power_of_two().trailing_zeros()
}
