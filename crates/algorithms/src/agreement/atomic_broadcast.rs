//! Atomic broadcast: a sequence of consensus instances decides the next item to deliver.
//!
//! T. D. Chandra and S. Toueg, *Unreliable failure detectors for reliable distributed systems*,
//! JACM 43(2), 1996: the reduction of atomic broadcast to consensus. Here the consensus algorithm
//! is Paxos, and each instance decides one item. In the paper, an instance decides a set of items.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order, a detector with finitely many errors |
//! | survives | crashes of a minority, without recovery |
//! | messages per item | (N − 1)² to broadcast it, 5(N − 1) of Paxos if one process leads |
//! | delay | 1 message until the leader has the item, then the 4 or 5 messages of Paxos |
//!
//! **Why it is right.** An item is sent by reliable broadcast, and waits at each receiver until it
//! is ordered. A process with waiting items proposes the first of them to the next consensus
//! instance. Each process delivers the decision of the *k*-th instance as its *k*-th item. All
//! processes see the same decisions, so they deliver in the same order without gaps. No item is
//! decided twice: before a process proposes to the *k*-th instance, it delivers all earlier
//! decisions, and it proposes only undelivered items. Consensus requires that every live process
//! makes a proposal. Each live process has an item to propose, because reliable broadcast delivers
//! the same items to all of them. An item that waits at every process is eventually proposed by
//! all, and decided.
//!
//! A process keeps all consensus instances, because a slow process may still ask for them.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use tenure_core::service::broadcast::{Command, Event, ItemId};
use tenure_core::service::{Tagged, consensus};
use tenure_core::theory::ExpectedCosts;
use tenure_core::{
    Algorithm, Card, CrashModel, DetectorClass, Effects, Group, Input, Labelled, MessageCost,
    MessageLabel, Never, PeerVerdict, ProcessId, Property, Protocol, Service, ToleratedFaults,
};

use super::omega::Omega;
use super::paxos::{self, Paxos};
use super::reliable_broadcast::{self, ReliableBroadcast};
use crate::Variants;
use crate::variants::variant_ids;

/// One process: it broadcasts items, proposes an order by consensus, and delivers the items.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AtomicBroadcast {
    group: Group,
    variants: Variants<VariantId>,
    detector: Omega,
    relay: ReliableBroadcast,
    /// Items that have arrived by reliable broadcast, but that this process has not delivered to
    /// its user yet (`R_delivered` minus `A_delivered` in the paper).
    waiting: BTreeSet<ItemId>,
    /// Items that this process has delivered to its user (`A_delivered` in the paper).
    delivered: BTreeSet<ItemId>,
    /// Consensus instances, by number. The numbers start at 1. Instance *k* decides the *k*-th item
    /// to deliver.
    turns: BTreeMap<u64, Paxos>,
    /// Decided items that this process cannot deliver yet, because an earlier instance is
    /// undecided. The key is the number of the instance that decided the item.
    ahead: BTreeMap<u64, ItemId>,
    /// Number of the next item to deliver, and of the consensus instance that decides this item
    /// (`k` in the paper).
    next: u64,
    /// Highest number among the consensus instances to which this process has proposed an item; 0
    /// if it has proposed none.
    proposed: u64,
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// A message of the reliable broadcast.
    Relay(reliable_broadcast::Message),
    /// A message of a consensus instance, tagged with the number of the instance.
    Turn(Tagged<u64, paxos::Message>),
}

impl Labelled for Message {
    fn label(&self) -> MessageLabel {
        match self {
            Message::Relay(message) => message.label(),
            Message::Turn(message) => message.label(),
        }
    }
}

variant_ids! {
    NoOrder = "no-order", unsound,
        "an item is delivered when it arrives, as by a reliable broadcast"
        => "", "-n 2";
    AsDecided = "as-decided", unsound,
        "an item is delivered as soon as its decision is known, even before its turn"
        => "", "-n 2";
}

impl Protocol for AtomicBroadcast {
    type Config = Variants<VariantId>;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = reliable_broadcast::Timer;
    type Stable = ();

    fn boot(
        group: Group,
        variants: &Variants<VariantId>,
        _: Option<()>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let fx = &mut fx.child_effects(Message::Relay, |timer| timer, Some);
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
            Message::Turn(Tagged { key: turn, inner: message }) => {
                self.step_instance(turn, Input::Message { from, message }, fx);
            }
        }
        self.propose(fx);
    }

    fn on_timer(&mut self, timer: reliable_broadcast::Timer, fx: &mut impl Effects<Self>) {
        self.relay(Input::Timer(timer), fx);
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        let begun: Vec<u64> = self.turns.keys().copied().collect();
        for turn in begun {
            self.step_instance(turn, Input::Suspicion { peer, verdict }, fx);
        }
        self.detector.on_verdict(peer, verdict);
        self.propose(fx);
    }
}

impl AtomicBroadcast {
    /// Runs a step of the reliable broadcast. Adds each delivered item to `waiting`.
    fn relay(&mut self, input: Input<ReliableBroadcast>, fx: &mut impl Effects<Self>) {
        let (_, got) = fx.run_child(Message::Relay, |timer| timer, |fx| self.relay.step(input, fx));
        for Event::Delivered { item } in got {
            if self.variants.has(VariantId::NoOrder) {
                self.deliver(item, fx);
            } else if !self.delivered.contains(&item) {
                self.waiting.insert(item);
            }
        }
    }

    /// Runs a step of the consensus instance `turn`, and creates that instance if it does not
    /// exist.
    fn step_instance(&mut self, turn: u64, input: Input<Paxos>, fx: &mut impl Effects<Self>) {
        let (group, detector) = (self.group, &self.detector);
        let turns = &mut self.turns;
        let of_turn = move |inner| Message::Turn(Tagged { key: turn, inner });
        let (_, decisions) = fx.run_child(
            of_turn,
            |timer: Never| match timer {},
            |fx| {
                let paxos = turns.entry(turn).or_insert_with(|| {
                    let mut paxos = Paxos::boot(group, &Variants::none(), None, fx);
                    for peer in detector.suspected() {
                        paxos.on_suspicion(peer, PeerVerdict::Suspect, fx);
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

    /// Proposes the first waiting item to the next instance, at most once per instance.
    fn propose(&mut self, fx: &mut impl Effects<Self>) {
        while let Some(item) = self.waiting.first()
            && self.proposed < self.next
        {
            let value = self.value(*item);
            self.proposed = self.next;
            let command = consensus::Command::Propose { value };
            self.step_instance(self.next, Input::Command(command), fx);
        }
    }

    fn decided(&mut self, turn: u64, item: ItemId, fx: &mut impl Effects<Self>) {
        if self.variants.has(VariantId::AsDecided) {
            self.deliver(item, fx);
        }
        self.ahead.insert(turn, item);
        while let Some(item) = self.ahead.remove(&self.next) {
            self.next += 1;
            self.deliver(item, fx);
        }
    }

    fn deliver(&mut self, item: ItemId, fx: &mut impl Effects<Self>) {
        self.waiting.remove(&item);
        if self.delivered.insert(item) {
            fx.emit(Event::Delivered { item });
        }
    }

    /// Encodes `item` as the number that this process proposes to a consensus instance. Different
    /// items have different numbers.
    fn value(&self, item: ItemId) -> u64 {
        item.number.wrapping_mul(self.group.size().into()).wrapping_add(item.from.0.into())
    }

    fn item(&self, value: u64) -> ItemId {
        let size = u64::from(self.group.size());
        let from = u32::try_from(value % size).expect("sender index is below the group size");
        ItemId { from: ProcessId(from), number: value / size }
    }
}

impl Algorithm for AtomicBroadcast {
    fn card(_: &Variants<VariantId>, size: u32) -> Card {
        let n = u64::from(size);
        Card {
            faults: ToleratedFaults {
                crashes: CrashModel::Stop,
                ..ToleratedFaults::duplication_only(
                    "survives the crash of a minority; more cost progress",
                )
                .requiring_majority()
            },
            detection: DetectorClass::EventuallyPerfect,
            messages: MessageCost::per_agreement(
                "(N−1)² + 5(N−1) where one leads",
                (n - 1) * (n - 1) + 5 * (n - 1),
                None,
            ),
            theory: Some(ExpectedCosts::agreement("4N+1", 4 * size + 1)),
            variants: Variants::<VariantId>::declarations(),
            ..Card::agreement(
                Service::Broadcast,
                "atomic-broadcast",
                "a sequence of consensus instances decides the order",
                "Chandra and Toueg, JACM 43(2), 1996",
            )
            .with_promises([
                Property::Agreement,
                Property::Integrity,
                Property::NoCreation,
                Property::TotalOrder,
            ])
        }
    }

    /// Returns the highest ballot number of any consensus instance. In Paxos, a ballot plays the
    /// role of a term.
    fn highest_term(&self) -> u64 {
        self.turns.values().map(Paxos::highest_term).max().unwrap_or(0)
    }
}
