//! Atomic broadcast: one consensus after the other decides what all deliver next.
//!
//! T. D. Chandra and S. Toueg, *Unreliable failure detectors for reliable distributed systems*,
//! JACM 43(2), 1996: the reduction of atomic broadcast to consensus, here with Paxos, and with one
//! item for each decision where the paper takes a set.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order, a detector wrong finitely often |
//! | survives | the crash of a minority, without return |
//! | messages per item | (N − 1)² of the reliable broadcast, 5(N − 1) of Paxos where one leads |
//! | delay | 1 message to the leader, and Paxos's 4 or 5 |
//!
//! **Why it is right.** An item is sent to all by a reliable broadcast, and then awaits its turn.
//! Whoever has items that wait proposes the first of them to the next consensus. What the *k*-th
//! consensus decides everybody delivers as its *k*-th item, when it has delivered the *k* − 1
//! before; all decide alike, so all deliver in one order, and nobody leaves anything out. A process
//! proposes to the *k*-th only what it has not delivered, and has delivered all that was decided
//! before: so no item is decided twice. What one who stays up has got all such get, and so all have
//! something to propose to the same consensus, as consensus demands; and an item that waits at
//! everybody is proposed by everybody in the end, so that it is decided.
//!
//! Every consensus is kept, since one who comes late may still ask for it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use tenure_core::service::broadcast::{Command, Event, Item};
use tenure_core::service::{Of, consensus};
use tenure_core::theory::Theory;
use tenure_core::{
    Algorithm, Card, Cost, Crashes, Detection, Effects, Faults, Group, Input, Label, Labelled,
    Never, ProcessId, Property, Protocol, Service, Verdict,
};

use super::omega::Omega;
use super::paxos::{self, Paxos};
use super::reliable_broadcast::{self, ReliableBroadcast};
use crate::Variants;
use crate::variants::switches;

/// One process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AtomicBroadcast {
    group: Group,
    variants: Variants<Switch>,
    detector: Omega,
    relay: ReliableBroadcast,
    /// `R_delivered` without `A_delivered`: what awaits its turn.
    waiting: BTreeSet<Item>,
    /// `A_delivered`.
    delivered: BTreeSet<Item>,
    /// By number, from 1: the consensus on the item of that number.
    turns: BTreeMap<u64, Paxos>,
    /// What was decided before its turn.
    ahead: BTreeMap<u64, Item>,
    /// `k`: which item we deliver next.
    next: u64,
    /// The last consensus to which we have proposed.
    proposed: u64,
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Of the reliable broadcast.
    Relay(reliable_broadcast::Message),
    /// Of the consensus of this number.
    Turn(Of<u64, paxos::Message>),
}

impl Labelled for Message {
    fn label(&self) -> Label {
        match self {
            Message::Relay(message) => message.label(),
            Message::Turn(message) => message.label(),
        }
    }
}

switches! {
    NoOrder = "no-order", unsound,
        "an item is delivered as soon as it comes, as by a reliable broadcast"
        => "", "-n 2";
    AsDecided = "as-decided", unsound,
        "an item is delivered when its decision is heard, whether or not it is its turn"
        => "", "-n 2";
}

impl Protocol for AtomicBroadcast {
    type Config = Variants<Switch>;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = reliable_broadcast::Timer;
    type Stable = ();

    fn boot(
        group: Group,
        variants: &Variants<Switch>,
        _: Option<()>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let fx = &mut fx.wrap(Message::Relay, |timer| timer, Some);
        AtomicBroadcast {
            group,
            variants: *variants,
            detector: Omega::default(),
            relay: ReliableBroadcast::boot(group, &Variants::none(), None, fx),
            waiting: BTreeSet::new(),
            delivered: BTreeSet::new(),
            turns: BTreeMap::new(),
            ahead: BTreeMap::new(),
            next: 1,
            proposed: 0,
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        self.relay(Input::Command(command), fx);
        self.propose(fx);
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Relay(message) => self.relay(Input::Message { from, message }, fx),
            Message::Turn(Of { key: turn, inner: message }) => {
                self.at_turn(turn, Input::Message { from, message }, fx);
            }
        }
        self.propose(fx);
    }

    fn on_timer(&mut self, timer: reliable_broadcast::Timer, fx: &mut impl Effects<Self>) {
        self.relay(Input::Timer(timer), fx);
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        let begun: Vec<u64> = self.turns.keys().copied().collect();
        for turn in begun {
            self.at_turn(turn, Input::Suspicion { peer, verdict }, fx);
        }
        self.detector.hear(peer, verdict);
        self.propose(fx);
    }
}

impl AtomicBroadcast {
    /// A step of the reliable broadcast, of which we learn what there is to deliver.
    fn relay(&mut self, input: Input<ReliableBroadcast>, fx: &mut impl Effects<Self>) {
        let (_, got) = fx.lift(Message::Relay, |timer| timer, |fx| self.relay.step(input, fx));
        for Event::Delivered { item } in got {
            if self.variants.has(Switch::NoOrder) {
                self.deliver(item, fx);
            } else if !self.delivered.contains(&item) {
                self.waiting.insert(item);
            }
        }
    }

    /// A step of the consensus on an item, which perhaps begins with it.
    fn at_turn(&mut self, turn: u64, input: Input<Paxos>, fx: &mut impl Effects<Self>) {
        let (group, detector) = (self.group, &self.detector);
        let turns = &mut self.turns;
        let of_turn = move |inner| Message::Turn(Of { key: turn, inner });
        let (_, decisions) = fx.lift(
            of_turn,
            |timer: Never| match timer {},
            |fx| {
                let paxos = turns.entry(turn).or_insert_with(|| {
                    let mut paxos = Paxos::boot(group, &Variants::none(), None, fx);
                    for peer in detector.all_suspected() {
                        paxos.on_suspicion(peer, Verdict::Suspect, fx);
                    }
                    paxos
                });
                paxos.step(input, fx);
            },
        );
        for consensus::Event::Decided { value } in decisions {
            self.decided(turn, self.item(value), fx);
        }
    }

    /// Proposes the first item that waits to the next consensus, once.
    fn propose(&mut self, fx: &mut impl Effects<Self>) {
        while let Some(item) = self.waiting.first()
            && self.proposed < self.next
        {
            let value = self.value(*item);
            self.proposed = self.next;
            let command = consensus::Command::Propose { value };
            self.at_turn(self.next, Input::Command(command), fx);
        }
    }

    fn decided(&mut self, turn: u64, item: Item, fx: &mut impl Effects<Self>) {
        if self.variants.has(Switch::AsDecided) {
            self.deliver(item, fx);
        }
        self.ahead.insert(turn, item);
        while let Some(item) = self.ahead.remove(&self.next) {
            self.next += 1;
            self.deliver(item, fx);
        }
    }

    fn deliver(&mut self, item: Item, fx: &mut impl Effects<Self>) {
        self.waiting.remove(&item);
        if self.delivered.insert(item) {
            fx.emit(Event::Delivered { item });
        }
    }

    /// An item as a consensus knows it.
    fn value(&self, item: Item) -> u64 {
        item.number.wrapping_mul(self.group.size().into()).wrapping_add(item.from.0.into())
    }

    fn item(&self, value: u64) -> Item {
        let size = u64::from(self.group.size());
        let from = u32::try_from(value % size).expect("a place in the group");
        Item { from: ProcessId(from), number: value / size }
    }
}

impl Algorithm for AtomicBroadcast {
    fn card(_: &Variants<Switch>, size: u32) -> Card {
        let n = u64::from(size);
        Card {
            faults: Faults {
                crashes: Crashes::Stop,
                ..Faults::duplication("survives the crash of a minority; more cost progress")
                    .of_majority()
            },
            detection: Detection::EventuallyPerfect,
            messages: Cost::per_agreement(
                "(N−1)² + 5(N−1) where one leads",
                (n - 1) * (n - 1) + 5 * (n - 1),
                None,
            ),
            theory: Some(Theory::agreement("4N+1", 4 * size + 1)),
            variants: Variants::<Switch>::declared(),
            ..Card::agreement(
                Service::Broadcast,
                "atomic-broadcast",
                "one consensus after the other decides what comes next",
                "Chandra and Toueg, JACM 43(2), 1996",
            )
            .promising([
                Property::Agreement,
                Property::Integrity,
                Property::NoCreation,
                Property::TotalOrder,
            ])
        }
    }

    /// The highest ballot of any consensus.
    fn highest_term(&self) -> u64 {
        self.turns.values().map(Paxos::highest_term).max().unwrap_or(0)
    }
}
