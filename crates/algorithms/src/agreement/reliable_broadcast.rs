//! Reliable broadcast: who gets an item for the first time sends it on to all, and delivers it.
//!
//! T. D. Chandra and S. Toueg, *Unreliable failure detectors for reliable distributed systems*,
//! JACM 43(2), 1996, section 4; the problem and its uniform form are those of V. Hadzilacos and
//! S. Toueg, *Fault-tolerant broadcasts and related problems*, in S. Mullender (ed.), *Distributed
//! systems*, 1993.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order |
//! | survives | crashes without return: any number, or a minority where it is uniform |
//! | messages per item | (N − 1)², and with the variant `uniform` N(N − 1) |
//! | delay | 1 message; 2 with `uniform` |
//!
//! **Why it is right.** Whoever delivers an item has sent it to everybody before. If it stays up,
//! so does what it sent arrive, and everybody who stays up delivers it: *agreement*. The sender
//! itself may crash when it has sent some of its messages, and then either nobody who stays up
//! has got one, or one has, and sends it on. An item is known by its sender and number, so it is
//! delivered once, and only what was broadcast is ever sent.
//!
//! One may have delivered an item and crashed so early that none of its messages was sent. With
//! `uniform` it therefore waits until a majority has said that it has the item: one of those stays
//! up, as a majority does, and its messages arrive.
//!
//! The steps of a checker are whole: nobody crashes there in the midst of sending. What is shown
//! instead is a message that is lost, `--lose 1 --beyond-assumptions`, which sending on makes good;
//! and with the mistake `deliver-first`, whose two halves are two steps, a crash between them.

use alloc::collections::{BTreeMap, BTreeSet};

use tenure_core::service::broadcast::{Command, Event, Item};
use tenure_core::theory::Theory;
use tenure_core::{
    Algorithm, Card, Cost, Crashes, Delay, Effects, Faults, Group, ProcessId, ProcessSet, Property,
    Protocol, Service, Strategy, labelled,
};

use crate::Variants;
use crate::variants::switches;

/// One process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReliableBroadcast {
    group: Group,
    variants: Variants<Switch>,
    known: BTreeMap<Item, Known>,
    /// Delivered, and not sent on yet: always empty but with `deliver-first`.
    owed: BTreeSet<Item>,
}

/// An item that we have got.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Known {
    /// Who has it, as far as we know.
    by: ProcessSet,
    delivered: bool,
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "I have this item: take it."
    Item {
        /// Which.
        item: Item,
    },
}

labelled!(Message, Agreement, Item => "item");

/// The timers of this algorithm, which only a mistake needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// With `deliver-first`: what was delivered is sent on.
    SendOn,
}

switches! {
    Uniform = "uniform", sound,
        "an item is delivered when a majority has it, so that also who crashes delivers nothing \
         that the others lack";
    NoRelay = "no-relay", unsound,
        "nobody sends on what it got, so what a crash has cut short stays so"
        => "", "-n 3 --lose 1 --beyond-assumptions --initiators 1";
    Forgetful = "forgetful", unsound,
        "who delivers an item does not note it, and delivers what others send on again"
        => "", "-n 3";
    DeliverFirst = "deliver-first", unsound,
        "an item is delivered first and sent on by a later step: who crashes between has what \
         nobody else gets"
        => "", "-n 2 --crash 1 --property uniform-agreement";
    NamesSender = "names-sender", unsound,
        "an item is taken for one of whoever sent it, though that one only sent it on"
        => "", "-n 3 --property no-creation";
}

impl Protocol for ReliableBroadcast {
    type Config = Variants<Switch>;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    type Stable = ();

    fn boot(
        group: Group,
        variants: &Variants<Switch>,
        _: Option<()>,
        _: &mut impl Effects<Self>,
    ) -> Self {
        let (known, owed) = (BTreeMap::new(), BTreeSet::new());
        ReliableBroadcast { group, variants: *variants, known, owed }
    }

    fn stable(&self) {}

    fn on_command(&mut self, Command::Broadcast { number }: Command, fx: &mut impl Effects<Self>) {
        let me = self.group.me();
        self.get(me, Item { from: me, number }, fx);
    }

    fn on_message(
        &mut self,
        from: ProcessId,
        Message::Item { item }: Message,
        fx: &mut impl Effects<Self>,
    ) {
        let item =
            if self.variants.has(Switch::NamesSender) { Item { from, ..item } } else { item };
        self.get(from, item, fx);
    }

    fn on_timer(&mut self, Timer::SendOn: Timer, fx: &mut impl Effects<Self>) {
        for item in core::mem::take(&mut self.owed) {
            self.send_on(item, fx);
        }
    }
}

impl ReliableBroadcast {
    /// Takes note that `from` has an item, and so have we.
    fn get(&mut self, from: ProcessId, item: Item, fx: &mut impl Effects<Self>) {
        let delivers_first = self.variants.has(Switch::DeliverFirst);
        if !self.known.contains_key(&item) {
            if delivers_first {
                self.owed.insert(item);
                fx.set_timer(Timer::SendOn, Delay::between_units(0, 1));
            } else {
                self.send_on(item, fx);
            }
        }
        let (me, size) = (self.group.me(), self.group.size());
        let waits = self.variants.has(Switch::Uniform) && !delivers_first;
        let known = self.known.entry(item).or_default();
        known.by.insert(from);
        known.by.insert(me);
        if !known.delivered && (!waits || 2 * known.by.len() > size) {
            known.delivered = !self.variants.has(Switch::Forgetful);
            fx.emit(Event::Delivered { item });
        }
    }

    fn send_on(&self, item: Item, fx: &mut impl Effects<Self>) {
        let is_ours = item.from == self.group.me();
        if self.variants.has(Switch::NoRelay) && !is_ours {
            return;
        }
        let mut to = self.group.peers();
        // Whoever sent it first has it; where it is uniform it must hear that others have.
        if !is_ours && !self.variants.has(Switch::Uniform) {
            to.remove(item.from);
        }
        fx.broadcast(&to, Message::Item { item });
    }
}

impl Algorithm for ReliableBroadcast {
    fn card(variants: &Variants<Switch>, size: u32) -> Card {
        let n = u64::from(size);
        let card = Card {
            strategy: Strategy::Flooding,
            faults: Faults {
                crashes: Crashes::Stop,
                ..Faults::duplication(
                    "survives any number of crashes without return, uniformly those of a minority",
                )
            },
            messages: Cost::per_agreement("(N−1)²", (n - 1) * (n - 1), Some((n - 1) * (n - 1))),
            theory: Some(Theory::agreement("1", 1)),
            variants: Variants::<Switch>::declared(),
            ..Card::agreement(
                Service::Broadcast,
                "reliable-broadcast",
                "who gets an item sends it on to all",
                "Chandra and Toueg, JACM 43(2), 1996",
            )
            .promising([
                Property::Agreement,
                Property::Integrity,
                Property::NoCreation,
            ])
        };
        if !variants.has(Switch::Uniform) {
            return card;
        }
        let messages = n * (n - 1);
        Card {
            messages: Cost::per_agreement("N(N−1)", messages, Some(messages)),
            theory: Some(Theory::agreement("2", 2)),
            ..card.promising([Property::UniformAgreement])
        }
    }
}
