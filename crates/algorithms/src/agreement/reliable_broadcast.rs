//! Reliable broadcast: a process that receives an item for the first time forwards it to all and
//! delivers it.
//!
//! T. D. Chandra and S. Toueg, *Unreliable failure detectors for reliable distributed systems*,
//! JACM 43(2), 1996, section 4; the problem and its uniform form are those of V. Hadzilacos and
//! S. Toueg, *Fault-tolerant broadcasts and related problems*, in S. Mullender (ed.), *Distributed
//! systems*, 1993.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order |
//! | survives | any number of crashes, or with `uniform` those of a minority; no recovery |
//! | messages per item | (N − 1)², and with the variant `uniform` N(N − 1) |
//! | delay | 1 message; 2 with `uniform` |
//!
//! **Why it is right.** A process sends an item to all before it delivers it. If the process stays
//! up, these messages arrive, and every live process delivers the item: *agreement*. The
//! broadcaster may crash after sending only some messages. Then either no live process received the
//! item, or a live process received and forwards it. An item is identified by its sender and
//! number, so it is delivered once, and only items that were broadcast are ever sent.
//!
//! If a process crashes, messages that it has sent may be lost. So it may have delivered an item
//! that no other process receives. Therefore, with `uniform` a process delivers an item only when
//! it knows that a majority has the item. One process of the majority stays up, and its messages
//! arrive.
//!
//! In the model checker, a process does not crash in the middle of a broadcast, because steps are
//! atomic. Two other faults show why forwarding is needed. One is a lost message (`--lose 1
//! --beyond-assumptions`). The other is a crash between the two steps of the unsound variant
//! `deliver-first`.

use alloc::collections::{BTreeMap, BTreeSet};

use tenure_core::service::broadcast::{Command, Event, ItemId};
use tenure_core::theory::ExpectedCosts;
use tenure_core::{
    Algorithm, AlgorithmClass, Card, CrashModel, Delay, Effects, Group, MessageCost, ProcessId,
    ProcessSet, Property, Protocol, Service, ToleratedFaults, labelled,
};

use crate::Variants;
use crate::variants::variant_ids;

/// One process of the broadcast, with the items that it has received, forwarded and delivered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReliableBroadcast {
    group: Group,
    variants: Variants<VariantId>,
    /// Items that this process has received or broadcast.
    known: BTreeMap<ItemId, Known>,
    /// Items that this process has delivered but not forwarded yet. Used only in the variant
    /// `deliver-first`.
    unforwarded: BTreeSet<ItemId>,
}

/// State of a received item.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Known {
    /// Processes that are known to have the item.
    by: ProcessSet,
    delivered: bool,
}

/// Messages between processes. Each carries one item, from the process that broadcast the item or
/// from a process that forwards it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Forwards an item.
    Item {
        /// The forwarded item.
        item: ItemId,
    },
}

labelled!(Message, Agreement, Item => "item");

/// Timers of this algorithm. Only the variant `deliver-first` sets one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// Forwards the items that this process has delivered but not forwarded.
    SendOn,
}

variant_ids! {
    Uniform = "uniform", sound,
        "an item is delivered when a majority has it, so that even a crashing process delivers \
         only items that the others deliver";
    NoRelay = "no-relay", unsound,
        "no process forwards items, so a broadcast cut short by a crash stays incomplete"
        => "", "-n 3 --lose 1 --beyond-assumptions --initiators 1";
    Forgetful = "forgetful", unsound,
        "a process does not record deliveries, and delivers forwarded copies again"
        => "", "-n 3";
    DeliverFirst = "deliver-first", unsound,
        "an item is delivered first and forwarded in a later step: a process that crashes in \
         between has an item that no other receives"
        => "", "-n 2 --crash 1 --property uniform-agreement";
    NamesSender = "names-sender", unsound,
        "an item is attributed to the process that forwarded it"
        => "", "-n 3 --property no-creation";
}

impl Protocol for ReliableBroadcast {
    type Config = Variants<VariantId>;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    type Stable = ();

    fn boot(
        group: Group,
        variants: &Variants<VariantId>,
        _: Option<()>,
        _: &mut impl Effects<Self>,
    ) -> Self {
        let (known, unforwarded) = (BTreeMap::new(), BTreeSet::new());
        ReliableBroadcast { group, variants: *variants, known, unforwarded }
    }

    fn stable(&self) {}

    fn on_command(&mut self, Command::Broadcast { number }: Command, fx: &mut impl Effects<Self>) {
        let me = self.group.me();
        self.on_item(me, ItemId { from: me, number }, fx);
    }

    fn on_message(
        &mut self,
        from: ProcessId,
        Message::Item { item }: Message,
        fx: &mut impl Effects<Self>,
    ) {
        let item =
            if self.variants.has(VariantId::NamesSender) { ItemId { from, ..item } } else { item };
        self.on_item(from, item, fx);
    }

    fn on_timer(&mut self, Timer::SendOn: Timer, fx: &mut impl Effects<Self>) {
        for item in core::mem::take(&mut self.unforwarded) {
            self.forward(item, fx);
        }
    }
}

impl ReliableBroadcast {
    /// Records that `from` and this process have the item. Forwards the item if it is new. Delivers
    /// each item only once: immediately or, with the variant `uniform`, when a majority is known to
    /// have the item.
    fn on_item(&mut self, from: ProcessId, item: ItemId, fx: &mut impl Effects<Self>) {
        let delivers_first = self.variants.has(VariantId::DeliverFirst);
        if !self.known.contains_key(&item) {
            if delivers_first {
                self.unforwarded.insert(item);
                fx.set_timer(Timer::SendOn, Delay::between_time_units(0, 1));
            } else {
                self.forward(item, fx);
            }
        }
        let (me, size) = (self.group.me(), self.group.size());
        let waits = self.variants.has(VariantId::Uniform) && !delivers_first;
        let known = self.known.entry(item).or_default();
        known.by.insert(from);
        known.by.insert(me);
        if !known.delivered && (!waits || 2 * known.by.len() > size) {
            known.delivered = !self.variants.has(VariantId::Forgetful);
            fx.emit(Event::Delivered { item });
        }
    }

    fn forward(&self, item: ItemId, fx: &mut impl Effects<Self>) {
        let is_ours = item.from == self.group.me();
        if self.variants.has(VariantId::NoRelay) && !is_ours {
            return;
        }
        let mut to = self.group.peers();
        // The broadcaster needs no copy of its own item. But with `uniform`, it must learn which
        // processes have the item.
        if !is_ours && !self.variants.has(VariantId::Uniform) {
            to.remove(item.from);
        }
        fx.broadcast(&to, Message::Item { item });
    }
}

impl Algorithm for ReliableBroadcast {
    fn card(variants: &Variants<VariantId>, size: u32) -> Card {
        let n = u64::from(size);
        let card = Card {
            strategy: AlgorithmClass::Flooding,
            faults: ToleratedFaults {
                crashes: CrashModel::Stop,
                ..ToleratedFaults::duplication_only(
                    "survives any number of crashes without return, uniformly those of a minority",
                )
            },
            messages: MessageCost::per_agreement(
                "(N−1)²",
                (n - 1) * (n - 1),
                Some((n - 1) * (n - 1)),
            ),
            theory: Some(ExpectedCosts::agreement("1", 1)),
            variants: Variants::<VariantId>::declarations(),
            ..Card::agreement(
                Service::Broadcast,
                "reliable-broadcast",
                "a process that receives an item forwards it to all",
                "Chandra and Toueg, JACM 43(2), 1996",
            )
            .with_promises([
                Property::Agreement,
                Property::Integrity,
                Property::NoCreation,
            ])
        };
        if !variants.has(VariantId::Uniform) {
            return card;
        }
        let messages = n * (n - 1);
        Card {
            faults: card.faults.requiring_majority(),
            messages: MessageCost::per_agreement("N(N−1)", messages, Some(messages)),
            theory: Some(ExpectedCosts::agreement("2", 2)),
            ..card.with_promises([Property::UniformAgreement])
        }
    }
}
