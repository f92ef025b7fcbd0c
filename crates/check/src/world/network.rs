//! Messages in flight, and the queues of the links. The contents of messages are ids, so this code
//! does not depend on the protocol.

use std::sync::Arc;

use tenure_core::{ChannelOrder, ProcessId};

use crate::model::fingerprint::{HashDomain, fingerprint};
use crate::model::intern::{Interned, Interner, Replacement};
use crate::reduce::symmetry::Renaming;

/// A message on a link. `from` and `to` are the indices of its sender and its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Packet {
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// Id of the content; 0 for a message between applications.
    pub(crate) message: u32,
    /// Id of the causal past of the sender; 0 if the search does not track causality.
    pub(crate) past: u32,
    /// Remaining time units before the message may arrive. Only used with synchronous timing.
    pub(crate) min_delay: u32,
    /// Remaining time units in which the message must arrive. Only used with synchronous timing.
    pub(crate) max_delay: u32,
}

/// Assigns ids to the messages in flight that the search finds, and to the queues of such messages.
#[derive(Debug)]
pub(crate) struct QueueInterner {
    order: ChannelOrder,
    is_timed: bool,
    /// Maximum number of messages in flight on a link.
    link_capacity: usize,
    /// Messages in flight, each with the fingerprint of its content.
    packets: Interner<(Packet, u64)>,
    /// Queues of links, as ids of messages in flight.
    queues: Interner<Vec<u32>>,
    /// Causal pasts: see [`CausalityTracking`](crate::model::causality::CausalityTracking).
    pasts: Interner<Vec<u32>>,
    /// Fairness labels, as arguments of [`Self::intern_label`].
    labels: Interner<(u64, u64)>,
}

/// The empty queue, which is never interned.
pub(crate) const EMPTY_QUEUE: Interned = Interned { id: 0, fingerprint: 0 };

/// A message in a queue, with the change that removes the message from the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueItem {
    /// Id of the message in flight.
    pub(crate) packet: u32,
    /// True for a message between applications.
    pub(crate) application: bool,
    /// True if the message can be delivered now.
    pub(crate) is_ready: bool,
    /// Fairness label of the delivery.
    pub(crate) label: u32,
    /// Replacement of the queue by a queue without the message.
    pub(crate) rest: Replacement,
}

/// Facts about the queue of a link.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueueFacts {
    pub(crate) fingerprint: u64,
    /// One item for each message, in the order of the queue. Equal messages that follow each other
    /// are one item.
    pub(crate) items: Vec<QueueItem>,
    /// True if a message of this queue must be delivered before time passes.
    pub(crate) is_urgent: bool,
}

impl QueueInterner {
    /// Creates an interner without messages. A link holds at most `link_capacity` messages.
    pub(crate) fn new(order: ChannelOrder, is_timed: bool, link_capacity: usize) -> Self {
        QueueInterner {
            order,
            is_timed,
            link_capacity,
            packets: Interner::new(),
            queues: Interner::new(),
            pasts: Interner::new(),
            labels: Interner::new(),
        }
    }

    /// Returns the id of a message in flight. `message` is the fingerprint of the content of the
    /// message, or 0 for a message between applications.
    pub(crate) fn intern_packet(&self, packet: Packet, message: u64) -> u32 {
        let past = if packet.past == 0 { 0 } else { self.pasts.fingerprint(packet.past) };
        let content = (packet.from, packet.to, message, past, packet.min_delay, packet.max_delay);
        self.packets
            .intern((packet, message), |_| fingerprint(HashDomain::InFlightMessage, &content))
            .id
    }

    pub(crate) fn packet_by_id(&self, id: u32) -> Packet {
        self.packets.get(id).0
    }

    /// Returns the id of a causal past, or 0 if it is empty.
    pub(crate) fn intern_past(&self, known: &[u32]) -> u32 {
        if known.is_empty() {
            return 0;
        }
        self.pasts.intern(known.to_vec(), |known| fingerprint(HashDomain::Past, known)).id
    }

    pub(crate) fn past_by_id(&self, id: u32) -> Arc<Vec<u32>> {
        self.pasts.get(id)
    }

    /// Returns the fairness label of a step. Fairness treats all steps with the same label as one
    /// step. `kind` is the kind of the step, and `index` distinguishes the steps of this kind.
    /// Labels start at 1.
    pub(crate) fn intern_label(&self, kind: u64, index: u64) -> u32 {
        self.labels.intern((kind, index), |label| fingerprint(HashDomain::Label, label)).id
    }

    pub(crate) fn bytes(&self) -> usize {
        self.packets.len() * 96 + self.queues.len() * 96 + self.pasts.len() * 80
    }

    /// Returns the queue with the message `packet` added. On a FIFO link, the message becomes the
    /// last one in the queue. In synchronous time, its delays are then raised so that it arrives no
    /// earlier than the message before it. If the link may reorder messages, the queue is sorted.
    /// Returns `None` if the link is full.
    pub(crate) fn queue_with_appended(&self, queue: u32, packet: u32) -> Option<Interned> {
        let mut content = self.packets_in(queue);
        if content.len() >= self.link_capacity {
            return None;
        }
        let packet = match content.last() {
            Some(last) if self.is_timed && self.order == ChannelOrder::Fifo => {
                self.not_before(packet, *last)
            }
            _ => packet,
        };
        content.push(packet);
        Some(self.queue(content))
    }

    /// Returns the message `packet` with delays that are long enough for it to arrive no earlier
    /// than the message `ahead`. With such delays, a FIFO link keeps the order of its messages in
    /// synchronous time.
    fn not_before(&self, packet: u32, ahead: u32) -> u32 {
        let (ahead, _) = *self.packets.get(ahead);
        let (mut packet, message) = *self.packets.get(packet);
        packet.min_delay = packet.min_delay.max(ahead.min_delay);
        packet.max_delay = packet.max_delay.max(ahead.max_delay);
        self.intern_packet(packet, message)
    }

    /// Returns the queue with a second copy of the message `packet`. Returns `None` if the link is
    /// full or the queue does not contain the message.
    pub(crate) fn queue_with_duplicate(&self, queue: u32, packet: u32) -> Option<Interned> {
        let mut content = self.packets_in(queue);
        if content.len() >= self.link_capacity {
            return None;
        }
        let index = content.iter().position(|other| *other == packet)?;
        content.insert(index, packet);
        Some(self.queue(content))
    }

    /// Returns the queue to which this queue changes when one unit of time passes. Panics if a
    /// message must be delivered before.
    pub(crate) fn after_time_unit(&self, queue: u32) -> Interned {
        self.queue_with_mapped_messages(queue, |(mut packet, message)| {
            packet.min_delay = packet.min_delay.saturating_sub(1);
            packet.max_delay =
                packet.max_delay.checked_sub(1).expect("time does not pass while a message is due");
            (packet, message)
        })
    }

    /// Returns the queue with every message replaced by the result of `change`.
    pub(crate) fn queue_with_mapped_messages(
        &self,
        queue: u32,
        change: impl Fn((Packet, u64)) -> (Packet, u64),
    ) -> Interned {
        let mut content = self.packets_in(queue);
        for packet in &mut content {
            let (changed, message) = change(*self.packets.get(*packet));
            *packet = self.intern_packet(changed, message);
        }
        self.queue(content)
    }

    /// Returns the fingerprint that a queue has after processes are renamed. `print` returns the
    /// fingerprint of a message.
    pub(crate) fn renamed_fingerprint(
        &self,
        queue: u32,
        names: &Renaming,
        print: impl Fn(u32) -> u64,
    ) -> u64 {
        let content = self.packets_in(queue);
        let mut prints: Vec<u64> = content
            .into_iter()
            .map(|id| {
                let packet = self.packet_by_id(id);
                let name = |process| names.new_name(ProcessId(process)).0;
                let past = if packet.past == 0 {
                    0
                } else {
                    fingerprint(HashDomain::Past, &names.permuted(&self.past_by_id(packet.past)))
                };
                let message = if packet.message == 0 { 0 } else { print(packet.message) };
                let (from, to) = (name(packet.from), name(packet.to));
                let content = (from, to, message, past, packet.min_delay, packet.max_delay);
                fingerprint(HashDomain::InFlightMessage, &content)
            })
            .collect();
        if self.order == ChannelOrder::Reordered {
            prints.sort_unstable();
        }
        fingerprint(HashDomain::Queue, &prints)
    }

    /// Returns the ids of the messages in a queue. The empty queue has the id 0.
    pub(crate) fn packets_in(&self, queue: u32) -> Vec<u32> {
        if queue == 0 { Vec::new() } else { self.queues.get(queue).to_vec() }
    }

    /// Returns the queue that contains the messages in `content`. If the link does not keep the
    /// order of messages, sorts them.
    fn queue(&self, mut content: Vec<u32>) -> Interned {
        if content.is_empty() {
            return EMPTY_QUEUE;
        }
        if self.order == ChannelOrder::Reordered {
            content.sort_by_key(|packet| (self.packets.fingerprint(*packet), *packet));
        }
        self.queues.intern(content, |content| {
            let prints: Vec<u64> =
                content.iter().map(|packet| self.packets.fingerprint(*packet)).collect();
            fingerprint(HashDomain::Queue, &prints)
        })
    }

    pub(crate) fn queue_facts(&self, queue: u32) -> QueueFacts {
        let content = self.packets_in(queue);
        if content.is_empty() {
            return QueueFacts::default();
        }
        let mut facts =
            QueueFacts { fingerprint: self.queues.fingerprint(queue), ..QueueFacts::default() };
        for (index, id) in content.iter().enumerate() {
            let (packet, _) = *self.packets.get(*id);
            facts.is_urgent |= self.is_timed && packet.max_delay == 0;
            if index > 0 && content[index - 1] == *id {
                continue; // equal messages are one item
            }
            let mut rest = content.clone();
            rest.remove(index);
            let rest = self.queue(rest);
            facts.items.push(QueueItem {
                packet: *id,
                application: packet.message == 0,
                is_ready: packet.min_delay == 0
                    && (index == 0 || self.order == ChannelOrder::Reordered),
                label: self.label_of(packet),
                rest: Replacement::new(Some(rest), facts.fingerprint),
            });
        }
        assert!(facts.items.len() <= 256, "a link holds at most 256 different messages");
        facts
    }

    /// Returns the fairness label of a delivery. All deliveries on a FIFO link have the same label.
    /// On a reordering link, all deliveries of messages with the same content have the same label.
    fn label_of(&self, packet: Packet) -> u32 {
        let link = u64::from(packet.from) << 32 | u64::from(packet.to);
        let application = u64::from(packet.message == 0);
        match self.order {
            ChannelOrder::Fifo => self.intern_label(application, link),
            ChannelOrder::Reordered => self.intern_label(2 + u64::from(packet.message), link),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(network: &QueueInterner, message: u32) -> u32 {
        let packet = Packet { from: 0, to: 1, message, past: 0, min_delay: 0, max_delay: 0 };
        network.intern_packet(packet, u64::from(message) * 77)
    }

    fn ready(facts: &QueueFacts) -> usize {
        facts.items.iter().filter(|item| item.is_ready).count()
    }

    #[test]
    fn fifo_link_delivers_head_and_loses_any() {
        let network = QueueInterner::new(ChannelOrder::Fifo, false, 4);
        let (one, two) = (packet(&network, 1), packet(&network, 2));
        let queue = network
            .queue_with_appended(network.queue_with_appended(0, one).unwrap().id, two)
            .unwrap();
        let other = network
            .queue_with_appended(network.queue_with_appended(0, two).unwrap().id, one)
            .unwrap();
        assert_ne!(queue, other);
        let facts = network.queue_facts(queue.id);
        assert_eq!((facts.items.len(), ready(&facts)), (2, 1));
        assert_eq!(network.packets_in(facts.items[0].rest.id), [two]);
    }

    #[test]
    fn reordering_link_is_a_multiset() {
        let network = QueueInterner::new(ChannelOrder::Reordered, false, 4);
        let (one, two) = (packet(&network, 1), packet(&network, 2));
        let queue = network
            .queue_with_appended(network.queue_with_appended(0, one).unwrap().id, two)
            .unwrap();
        let other = network
            .queue_with_appended(network.queue_with_appended(0, two).unwrap().id, one)
            .unwrap();
        assert_eq!(queue, other);
        assert_eq!(ready(&network.queue_facts(queue.id)), 2);
        let duplicated = network.queue_with_duplicate(queue.id, one).unwrap();
        assert_eq!(
            network.queue_facts(duplicated.id).items.len(),
            2,
            "equal messages are one item"
        );
    }

    #[test]
    fn full_link_accepts_nothing() {
        let network = QueueInterner::new(ChannelOrder::Fifo, false, 1);
        let one = packet(&network, 1);
        let queue = network.queue_with_appended(0, one).unwrap();
        assert_eq!(network.queue_with_appended(queue.id, one), None);
        assert_eq!(network.queue_with_duplicate(queue.id, one), None);
    }

    #[test]
    fn fifo_link_keeps_order_in_synchronous_time() {
        let network = QueueInterner::new(ChannelOrder::Fifo, true, 4);
        let slow = Packet { from: 0, to: 1, message: 1, past: 0, min_delay: 2, max_delay: 3 };
        let fast = Packet { message: 2, min_delay: 0, max_delay: 1, ..slow };
        let first = network.queue_with_appended(0, network.intern_packet(slow, 1)).unwrap();
        let both = network.queue_with_appended(first.id, network.intern_packet(fast, 2)).unwrap();
        let last = network.packet_by_id(network.packets_in(both.id)[1]);
        assert_eq!((last.min_delay, last.max_delay), (2, 3));
        assert!(!network.queue_facts(both.id).is_urgent);
        let later = network
            .after_time_unit(network.after_time_unit(network.after_time_unit(both.id).id).id);
        assert!(network.queue_facts(later.id).is_urgent);
    }
}
