//! The causal broadcast of K. Birman, A. Schiper, P. Stephenson, *Lightweight causal and atomic
//! group multicast*, ACM TOCS 9(3), 1991. The paper uses vectors. Here, an item carries the set of
//! all items that happened before it. A process delivers an item when it has delivered all items in
//! this set.

use std::collections::{BTreeMap, BTreeSet};

use super::search::{Outbox, Process, Step};

/// An item that a process has broadcast: the index of the process, and the number of the item.
type Item = (usize, u32);

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    me: usize,
    size: usize,
    /// Number of items that the user has broadcast so far.
    sent: u32,
    remaining: u32,
    delivered: BTreeSet<Item>,
    /// Items that the process has received but not delivered. The value of an item is the set of
    /// all items that happened before this item.
    delayed: BTreeMap<Item, BTreeSet<Item>>,
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Message {
    item: Item,
    before: BTreeSet<Item>,
}

/// Creates the processes. For each process, `items` is the number of items that its user
/// broadcasts.
pub(crate) fn sites(items: &[u32]) -> Vec<Site> {
    let site = |(me, remaining): (usize, &u32)| Site {
        me,
        size: items.len(),
        sent: 0,
        remaining: *remaining,
        delivered: BTreeSet::new(),
        delayed: BTreeMap::new(),
    };
    items.iter().enumerate().map(site).collect()
}

impl Process for Site {
    type Message = Message;

    fn enabled(&self) -> Option<Step> {
        (self.remaining > 0).then_some(Step::Request)
    }

    fn execute(&mut self, _: Step) -> Outbox<Message> {
        self.remaining -= 1;
        self.sent += 1;
        let message = Message { item: (self.me, self.sent), before: self.delivered.clone() };
        self.delivered.insert(message.item);
        let peers = (0..self.size).filter(|peer| *peer != self.me);
        peers.map(|peer| (peer, message.clone())).collect()
    }

    fn receive(&mut self, _: usize, message: Message) -> Outbox<Message> {
        self.delayed.insert(message.item, message.before);
        while let Some(item) = self.deliverable() {
            self.delayed.remove(&item);
            self.delivered.insert(item);
        }
        Vec::new()
    }
}

impl Site {
    fn deliverable(&self) -> Option<Item> {
        let ready = |(_, before): &(&Item, &BTreeSet<Item>)| before.is_subset(&self.delivered);
        self.delayed.iter().find(ready).map(|(item, _)| *item)
    }
}
