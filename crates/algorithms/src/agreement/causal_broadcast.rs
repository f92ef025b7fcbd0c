//! Causal broadcast (CBCAST): a vector timestamp tells a receiver which items it must deliver
//! first.
//!
//! K. Birman, A. Schiper, P. Stephenson, *Lightweight causal and atomic group multicast*, ACM
//! Transactions on Computer Systems 9(3), 1991: causal delivery in one group without failures.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order, no crash |
//! | messages per item | N − 1, each with N numbers |
//! | delay | 1 message, plus the time until all earlier items have arrived |
//!
//! A process counts the items that it has delivered, separately for each broadcaster. It counts its
//! own items when it broadcasts them. Each item carries these counts as its *timestamp*. A receiver
//! delivers the items of each process in order. It also delays an item until it has delivered as
//! many items of every process other than the broadcaster as the timestamp states.
//!
//! **Why it is right.** Let *m* happen before *m′*: the broadcaster of *m′* had broadcast or
//! delivered *m* before it broadcast *m′*, or a chain of such steps leads from *m* to *m′*. Counts
//! never decrease, and a process that delivers an item raises its counts to those of the timestamp.
//! So the timestamp of *m′* counts *m*. Items of one process are delivered in order. So a process
//! that has delivered as many items of *m*'s broadcaster as the timestamp of *m′* states has
//! delivered *m*. No item is delayed forever: among the undelivered items of a process, at least
//! one has no undelivered item before it. The process can deliver this item.
//!
//! The paper also describes view changes, with which a group survives crashes. Here no process
//! crashes.

use alloc::collections::BTreeMap;

use tenure_core::service::broadcast::{Command, Event, ItemId};
use tenure_core::theory::ExpectedCosts;
use tenure_core::{
    Algorithm, AlgorithmClass, Card, Effects, Group, MessageCost, Never, ProcessId, Property,
    Protocol, Service, ToleratedFaults, VectorClock, labelled,
};

use crate::variants::{Variants, variant_ids};

/// One process. It broadcasts items, and delivers all items in causal order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CausalBroadcast {
    group: Group,
    variants: Variants<VariantId>,
    /// `VT(p)`: a count for each process. The count of another process is the number of its items
    /// that this process has delivered. The count of this process is the number of items that it
    /// has broadcast.
    counts: VectorClock,
    /// Items that have arrived but cannot be delivered yet, with their timestamps.
    delayed: BTreeMap<ItemId, VectorClock>,
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Broadcasts an item.
    Item {
        /// Sequence number of the item among the items of its sender.
        number: u64,
        /// `VT(m)`: for each process, the number of its items that happened before this item. The
        /// count for the sender includes this item.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::by_process"))]
        timestamp: VectorClock,
    },
}

labelled!(Message, Agreement, Item => "item");

variant_ids! {
    NoWait = "no-wait", unsound,
        "a process delivers an item as soon as it arrives"
        => "", "-n 3 --property causal-order";
    FifoOnly = "fifo-only", unsound,
        "only the count of the sender decides: items of one process are delivered in order, and \
         the answer to an item may be delivered before the item"
        => "", "-n 3 --property causal-order";
    CountsDeliveries = "counts-deliveries", unsound,
        "a process counts deliveries among its own items, and others wait for items that do not \
         exist"
        => "", "-n 2 --property agreement";
    MergesOnArrival = "merges-on-arrival", unsound,
        "a process takes the larger counts when an item arrives, before it delivers the item"
        => "", "-n 2 --property agreement";
}

impl Protocol for CausalBroadcast {
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
        let (counts, delayed) = (VectorClock::new(group.size()), BTreeMap::new());
        CausalBroadcast { group, variants: *variants, counts, delayed }
    }

    fn stable(&self) {}

    fn on_command(&mut self, Command::Broadcast { number }: Command, fx: &mut impl Effects<Self>) {
        let me = self.group.me();
        self.counts.tick(me);
        let timestamp = self.counts.clone();
        fx.broadcast(&self.group.peers(), Message::Item { number, timestamp });
        // A process need not delay its own items.
        fx.emit(Event::Delivered { item: ItemId { from: me, number } });
    }

    fn on_message(
        &mut self,
        from: ProcessId,
        Message::Item { number, timestamp }: Message,
        fx: &mut impl Effects<Self>,
    ) {
        let item = ItemId { from, number };
        if self.variants.has(VariantId::NoWait) {
            return self.deliver(item, &timestamp, fx);
        }
        if timestamp.count(from) > self.counts.count(from) {
            self.delayed.insert(item, timestamp.clone());
        }
        if self.variants.has(VariantId::MergesOnArrival) {
            self.counts.merge(&timestamp);
        }
        while let Some(item) = self.next_deliverable()
            && let Some(timestamp) = self.delayed.remove(&item)
        {
            self.deliver(item, &timestamp, fx);
        }
    }
}

impl CausalBroadcast {
    fn next_deliverable(&self) -> Option<ItemId> {
        let ready = |item: &ItemId, timestamp: &VectorClock| {
            let is_next = timestamp.count(item.from) == self.counts.count(item.from) + 1;
            let mut others = self.group.processes().filter(|process| *process != item.from);
            let has_rest =
                others.all(|process| timestamp.count(process) <= self.counts.count(process));
            is_next && (has_rest || self.variants.has(VariantId::FifoOnly))
        };
        self.delayed.iter().find(|(item, timestamp)| ready(item, timestamp)).map(|(item, _)| *item)
    }

    fn deliver(&mut self, item: ItemId, timestamp: &VectorClock, fx: &mut impl Effects<Self>) {
        if self.variants.has(VariantId::FifoOnly) {
            self.counts.tick(item.from);
        } else {
            self.counts.merge(timestamp);
        }
        if self.variants.has(VariantId::CountsDeliveries) {
            self.counts.tick(self.group.me());
        }
        fx.emit(Event::Delivered { item });
    }
}

impl Algorithm for CausalBroadcast {
    fn card(_: &Variants<VariantId>, size: u32) -> Card {
        let messages = u64::from(size) - 1;
        Card {
            strategy: AlgorithmClass::Flooding,
            faults: ToleratedFaults::duplication_only(
                "a lost message stops its receiver, which delays all items that follow",
            ),
            messages: MessageCost::per_agreement("N−1", messages, Some(messages)),
            theory: Some(ExpectedCosts::agreement("1", 1)),
            variants: Variants::<VariantId>::declarations(),
            ..Card::agreement(
                Service::Broadcast,
                "causal-broadcast",
                "vector timestamps delay an item until all earlier ones are delivered",
                "Birman, Schiper and Stephenson, ACM TOCS 9(3), 1991",
            )
            .with_promises([
                Property::Agreement,
                Property::Integrity,
                Property::NoCreation,
                Property::CausalOrder,
            ])
        }
    }
}
