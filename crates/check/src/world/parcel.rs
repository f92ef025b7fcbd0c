//! Messages under way, and the queues in which links keep them. Nothing here knows a protocol:
//! messages are numbers.

use std::sync::Arc;

use tenure_core::{Order, ProcessId};

use crate::model::fingerprint::{Role, fingerprint};
use crate::model::intern::{Change, Interned, Interner};
use crate::reduce::symmetry::Renaming;

/// A message under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Parcel {
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// The number of the message; 0 for one of the application.
    pub(crate) message: u32,
    /// The number of what its sender knew of requests; 0 where that is not kept.
    pub(crate) past: u32,
    /// In synchronous time: how many units until it can arrive.
    pub(crate) least: u32,
    /// In synchronous time: how many units until it must arrive.
    pub(crate) most: u32,
}

/// The parcels of a search, and the queues that they form.
#[derive(Debug)]
pub(crate) struct Freight {
    order: Order,
    timed: bool,
    in_flight: usize,
    parcels: Interner<(Parcel, u64)>,
    queues: Interner<Vec<u32>>,
    pasts: Interner<Vec<u32>>,
    labels: Interner<(u64, u64)>,
}

/// The empty queue, which is never interned.
pub(crate) const EMPTY: Interned = Interned { id: 0, fingerprint: 0 };

/// One parcel of a queue, and the queue without it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) parcel: u32,
    pub(crate) application: bool,
    /// Whether it may be delivered now.
    pub(crate) ready: bool,
    /// What fairness calls its delivery.
    pub(crate) label: u32,
    /// The queue without it, and what that adds to the fingerprint.
    pub(crate) rest: Change,
}

/// What a search asks of a queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueueFacts {
    pub(crate) fingerprint: u64,
    /// One for each different parcel that may be delivered, lost or duplicated.
    pub(crate) items: Vec<Item>,
    /// Whether time must not pass before a delivery.
    pub(crate) urgent: bool,
}

impl Freight {
    pub(crate) fn new(order: Order, timed: bool, in_flight: usize) -> Self {
        Freight {
            order,
            timed,
            in_flight,
            parcels: Interner::new(),
            queues: Interner::new(),
            pasts: Interner::new(),
            labels: Interner::new(),
        }
    }

    /// The number of a parcel whose message has the fingerprint `message`.
    pub(crate) fn parcel(&self, parcel: Parcel, message: u64) -> u32 {
        let past = if parcel.past == 0 { 0 } else { self.pasts.fingerprint(parcel.past) };
        let content = (parcel.from, parcel.to, message, past, parcel.least, parcel.most);
        self.parcels.intern((parcel, message), |_| fingerprint(Role::Parcel, &content)).id
    }

    pub(crate) fn parcel_of(&self, id: u32) -> Parcel {
        self.parcels.get(id).0
    }

    /// The number of what a sender knew; 0 where nothing is kept.
    pub(crate) fn past(&self, known: &[u32]) -> u32 {
        if known.is_empty() {
            return 0;
        }
        self.pasts.intern(known.to_vec(), |known| fingerprint(Role::Past, known)).id
    }

    pub(crate) fn past_of(&self, id: u32) -> Arc<Vec<u32>> {
        self.pasts.get(id)
    }

    /// The number, from 1, of what fairness shall tell apart.
    pub(crate) fn label(&self, kind: u64, of: u64) -> u32 {
        self.labels.intern((kind, of), |label| fingerprint(Role::Label, label)).id
    }

    /// How much was interned, to account for memory.
    pub(crate) fn bytes(&self) -> usize {
        self.parcels.len() * 96 + self.queues.len() * 96 + self.pasts.len() * 80
    }

    /// The queue with one more parcel; `None` when the link is full.
    pub(crate) fn push(&self, queue: u32, parcel: u32) -> Option<Interned> {
        let mut content = self.content(queue);
        if content.len() >= self.in_flight {
            return None;
        }
        let parcel = match content.last() {
            Some(last) if self.timed && self.order == Order::Fifo => self.not_before(parcel, *last),
            _ => parcel,
        };
        content.push(parcel);
        Some(self.queue(content))
    }

    /// First in, first out, also in time: a parcel cannot arrive before the one ahead of it.
    fn not_before(&self, parcel: u32, ahead: u32) -> u32 {
        let (ahead, _) = *self.parcels.get(ahead);
        let (mut parcel, message) = *self.parcels.get(parcel);
        parcel.least = parcel.least.max(ahead.least);
        parcel.most = parcel.most.max(ahead.most);
        self.parcel(parcel, message)
    }

    /// The queue with one of its items twice; `None` when the link is full.
    pub(crate) fn doubled(&self, queue: u32, parcel: u32) -> Option<Interned> {
        let mut content = self.content(queue);
        if content.len() >= self.in_flight {
            return None;
        }
        let place = content.iter().position(|other| *other == parcel)?;
        content.insert(place, parcel);
        Some(self.queue(content))
    }

    /// The queue one unit of time later.
    pub(crate) fn aged(&self, queue: u32) -> Interned {
        self.mapped(queue, |(mut parcel, message)| {
            parcel.least = parcel.least.saturating_sub(1);
            parcel.most = parcel.most.checked_sub(1).expect("time waits for what is due");
            (parcel, message)
        })
    }

    /// The queue with every parcel changed.
    pub(crate) fn mapped(
        &self,
        queue: u32,
        change: impl Fn((Parcel, u64)) -> (Parcel, u64),
    ) -> Interned {
        let mut content = self.content(queue);
        for parcel in &mut content {
            let (changed, message) = change(*self.parcels.get(*parcel));
            *parcel = self.parcel(changed, message);
        }
        self.queue(content)
    }

    /// The fingerprint of a queue under other names, given those of its messages.
    pub(crate) fn renamed(
        &self,
        queue: u32,
        names: &Renaming,
        message: impl Fn(u32) -> u64,
    ) -> u64 {
        let content = self.content(queue);
        let mut prints: Vec<u64> = content
            .into_iter()
            .map(|id| {
                let parcel = self.parcel_of(id);
                let name = |process| names.of(ProcessId(process)).0;
                let past = if parcel.past == 0 {
                    0
                } else {
                    fingerprint(Role::Past, &names.of_list(&self.past_of(parcel.past)))
                };
                let message = if parcel.message == 0 { 0 } else { message(parcel.message) };
                let (from, to) = (name(parcel.from), name(parcel.to));
                let content = (from, to, message, past, parcel.least, parcel.most);
                fingerprint(Role::Parcel, &content)
            })
            .collect();
        if self.order == Order::Reordered {
            prints.sort_unstable();
        }
        fingerprint(Role::Queue, &prints)
    }

    /// The parcels in a queue, in order.
    pub(crate) fn content(&self, queue: u32) -> Vec<u32> {
        if queue == 0 { Vec::new() } else { self.queues.get(queue).to_vec() }
    }

    /// The queue with this content, sorted where order does not matter.
    fn queue(&self, mut content: Vec<u32>) -> Interned {
        if content.is_empty() {
            return EMPTY;
        }
        if self.order == Order::Reordered {
            content.sort_by_key(|parcel| (self.parcels.fingerprint(*parcel), *parcel));
        }
        self.queues.intern(content, |content| {
            let prints: Vec<u64> =
                content.iter().map(|parcel| self.parcels.fingerprint(*parcel)).collect();
            fingerprint(Role::Queue, &prints)
        })
    }

    /// What a search asks of a queue.
    pub(crate) fn facts(&self, queue: u32) -> QueueFacts {
        let content = self.content(queue);
        if content.is_empty() {
            return QueueFacts::default();
        }
        let mut facts =
            QueueFacts { fingerprint: self.queues.fingerprint(queue), ..QueueFacts::default() };
        for (place, id) in content.iter().enumerate() {
            let (parcel, _) = *self.parcels.get(*id);
            facts.urgent |= self.timed && parcel.most == 0;
            if place > 0 && content[place - 1] == *id {
                continue; // the same again
            }
            let mut rest = content.clone();
            rest.remove(place);
            let rest = self.queue(rest);
            facts.items.push(Item {
                parcel: *id,
                application: parcel.message == 0,
                ready: parcel.least == 0 && (place == 0 || self.order == Order::Reordered),
                label: self.label_of(parcel),
                rest: Change::of(Some(rest), facts.fingerprint),
            });
        }
        assert!(facts.items.len() <= 256, "a link holds at most 256 different messages");
        facts
    }

    /// Fairness is towards a link whose head waits, or towards a message that waits.
    fn label_of(&self, parcel: Parcel) -> u32 {
        let link = u64::from(parcel.from) << 32 | u64::from(parcel.to);
        let application = u64::from(parcel.message == 0);
        match self.order {
            Order::Fifo => self.label(application, link),
            Order::Reordered => self.label(2 + u64::from(parcel.message), link),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parcel(freight: &Freight, message: u32) -> u32 {
        let parcel = Parcel { from: 0, to: 1, message, past: 0, least: 0, most: 0 };
        freight.parcel(parcel, u64::from(message) * 77)
    }

    fn ready(facts: &QueueFacts) -> usize {
        facts.items.iter().filter(|item| item.ready).count()
    }

    #[test]
    fn a_fifo_link_delivers_its_head_and_may_lose_any() {
        let freight = Freight::new(Order::Fifo, false, 4);
        let (one, two) = (parcel(&freight, 1), parcel(&freight, 2));
        let queue = freight.push(freight.push(0, one).unwrap().id, two).unwrap();
        let other = freight.push(freight.push(0, two).unwrap().id, one).unwrap();
        assert_ne!(queue, other);
        let facts = freight.facts(queue.id);
        assert_eq!((facts.items.len(), ready(&facts)), (2, 1));
        assert_eq!(freight.content(facts.items[0].rest.id), [two]);
    }

    #[test]
    fn a_reordering_link_is_a_bag() {
        let freight = Freight::new(Order::Reordered, false, 4);
        let (one, two) = (parcel(&freight, 1), parcel(&freight, 2));
        let queue = freight.push(freight.push(0, one).unwrap().id, two).unwrap();
        let other = freight.push(freight.push(0, two).unwrap().id, one).unwrap();
        assert_eq!(queue, other);
        assert_eq!(ready(&freight.facts(queue.id)), 2);
        let doubled = freight.doubled(queue.id, one).unwrap();
        assert_eq!(freight.facts(doubled.id).items.len(), 2, "equal ones are one item");
    }

    #[test]
    fn a_full_link_takes_no_more() {
        let freight = Freight::new(Order::Fifo, false, 1);
        let one = parcel(&freight, 1);
        let queue = freight.push(0, one).unwrap();
        assert_eq!(freight.push(queue.id, one), None);
        assert_eq!(freight.doubled(queue.id, one), None);
    }

    #[test]
    fn in_synchronous_time_a_fifo_parcel_never_arrives_before_the_one_ahead() {
        let freight = Freight::new(Order::Fifo, true, 4);
        let slow = Parcel { from: 0, to: 1, message: 1, past: 0, least: 2, most: 3 };
        let fast = Parcel { message: 2, least: 0, most: 1, ..slow };
        let first = freight.push(0, freight.parcel(slow, 1)).unwrap();
        let both = freight.push(first.id, freight.parcel(fast, 2)).unwrap();
        let last = freight.parcel_of(freight.content(both.id)[1]);
        assert_eq!((last.least, last.most), (2, 3));
        assert!(!freight.facts(both.id).urgent);
        let later = freight.aged(freight.aged(freight.aged(both.id).id).id);
        assert!(freight.facts(later.id).urgent);
    }
}
