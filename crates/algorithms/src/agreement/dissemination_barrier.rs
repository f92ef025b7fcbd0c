//! The dissemination barrier: every process learns of every arrival in ⌈log₂ N⌉ steps, without a
//! coordinator.
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
//! **Why it is right.** In step k, from 0, each process signals the process 2ᵏ places further on
//! the ring of ids, and waits for the signal of the process 2ᵏ places back. A process signals in a
//! step only after it has received the signals of all earlier steps. By induction, a signal of step
//! k means that its sender and the 2ᵏ − 1 processes before the sender have arrived. After the last
//! step, all processes have arrived.
//!
//! A process may leave a round and arrive in the next round while others still wait in the old
//! round. But no process leaves the next round before all have arrived in it. So a signal belongs
//! to the receiver's round or to the next round, or it is a late duplicate. The paper distinguishes
//! two rounds by two sets of flags in shared memory. Here signals are messages. They may be
//! duplicated or late, so they carry their round number.

use tenure_core::service::barrier::{Command, Event};
use tenure_core::theory::ExpectedCosts;
use tenure_core::{
    Algorithm, AlgorithmClass, Card, Effects, Group, MessageCost, Never, ProcessId, Property,
    Protocol, Service, ToleratedFaults, labelled,
};

use crate::variants::{Variants, variant_ids};

/// One process: its round, and the signals that it has received.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DisseminationBarrier {
    group: Group,
    variants: Variants<VariantId>,
    /// Round in which this process waits. If the process does not wait, the round in which it will
    /// arrive next.
    round: u64,
    phase: Phase,
    /// Steps of this round whose signal has arrived, as a bit set. Bit 0, the lowest bit, is step
    /// 0.
    received: u32,
    /// Steps of the next round whose signal has arrived, as a bit set. Bit 0, the lowest bit, is
    /// step 0.
    received_next: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    /// The process waits for the signal of this step. The signals of all earlier steps have
    /// arrived.
    Waiting {
        step: u32,
    },
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Reports that the sender and the 2ᵏ − 1 processes before the sender on the ring have arrived
    /// in the round, for k = `step`.
    Signal {
        /// Number of the round.
        round: u64,
        /// The step, from 0.
        step: u32,
    },
}

labelled!(Message, Agreement, Signal => "signal");

variant_ids! {
    LeavesEarly = "leaves-early", unsound,
        "a process leaves one step before the last"
        => "", "-n 2";
    AllAtOnce = "all-at-once", unsound,
        "an arriving process signals in all steps at once, so that a signal does not cover other \
         processes"
        => "", "-n 4";
    NoRounds = "no-rounds", unsound,
        "signals carry no round: a duplicate counts in the next one"
        => "", "-n 2 --entries 2 --duplicate 1";
}

impl Protocol for DisseminationBarrier {
    type Config = Variants<VariantId>;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(
        group: Group,
        variants: &Variants<VariantId>,
        _: Option<()>,
        _: &mut impl Effects<Self>,
    ) -> Self {
        DisseminationBarrier {
            group,
            variants: *variants,
            round: 1,
            phase: Phase::Idle,
            received: 0,
            received_next: 0,
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        let Command::Arrive = command;
        assert!(self.phase == Phase::Idle, "a waiting process cannot arrive again");
        if self.variants.has(VariantId::AllAtOnce) {
            (0..self.steps()).for_each(|step| self.signal(step, fx));
        }
        self.start_step(0, fx);
        self.advance(fx);
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        let Message::Signal { round, step } = message;
        if step >= steps(self.group.size()) || self.ring_successor(from, step) != self.group.me() {
            return;
        }
        if round == self.round || self.variants.has(VariantId::NoRounds) {
            self.received |= 1 << step;
            self.advance(fx);
        } else if round == self.round + 1 {
            self.received_next |= 1 << step;
        }
    }
}

impl DisseminationBarrier {
    /// Advances through all steps whose signals were received, and leaves the barrier after the
    /// last step.
    fn advance(&mut self, fx: &mut impl Effects<Self>) {
        while let Phase::Waiting { step } = self.phase {
            if step == self.steps() {
                self.leave(fx);
            } else if self.received & (1 << step) != 0 {
                self.start_step(step + 1, fx);
            } else {
                return;
            }
        }
    }

    fn start_step(&mut self, step: u32, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Waiting { step };
        if step < self.steps() && !self.variants.has(VariantId::AllAtOnce) {
            self.signal(step, fx);
        }
    }

    fn signal(&self, step: u32, fx: &mut impl Effects<Self>) {
        let to = self.ring_successor(self.group.me(), step);
        fx.send(to, Message::Signal { round: self.round, step });
    }

    fn leave(&mut self, fx: &mut impl Effects<Self>) {
        fx.emit(Event::Left { round: self.round });
        self.phase = Phase::Idle;
        self.round += 1;
        (self.received, self.received_next) = (self.received_next, 0);
    }

    fn steps(&self) -> u32 {
        let all = steps(self.group.size());
        if self.variants.has(VariantId::LeavesEarly) { all.saturating_sub(1) } else { all }
    }

    /// Returns the process 2ᵏ places after `from` on the ring, for k = `step`.
    fn ring_successor(&self, from: ProcessId, step: u32) -> ProcessId {
        let size = u64::from(self.group.size());
        let place = (u64::from(from.0) + (1 << step)) % size;
        ProcessId::from_index(
            usize::try_from(place).expect("process index is below the group size"),
        )
    }
}

impl Algorithm for DisseminationBarrier {
    fn card(_: &Variants<VariantId>, size: u32) -> Card {
        let messages = u64::from(size) * u64::from(steps(size));
        Card {
            strategy: AlgorithmClass::Flooding,
            faults: ToleratedFaults::duplication_only(
                "survives duplicates; a lost signal or a crash stops all",
            ),
            messages: MessageCost::per_agreement("N⌈log₂ N⌉", messages, Some(messages)),
            theory: Some(ExpectedCosts::agreement("⌈log₂ N⌉", steps(size))),
            variants: Variants::<VariantId>::declarations(),
            ..Card::agreement(
                Service::Barrier,
                "dissemination-barrier",
                "every process learns of every arrival in ⌈log₂ N⌉ steps",
                "Hensgen, Finkel and Manber, Int. J. Parallel Programming 17(1), 1988",
            )
            .with_promises([Property::NoEarlyDeparture])
        }
    }
}

/// Returns the number of steps of a round: ⌈log₂ N⌉ for N = `size`.
const fn steps(size: u32) -> u32 {
    size.next_power_of_two().trailing_zeros()
}
