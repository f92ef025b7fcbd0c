//! Bounded queue of messages to one peer.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tenure_core::Layer;
use tokio::sync::Notify;

use super::reliable_session::QueueSize;

#[derive(Debug)]
pub(crate) struct OutgoingMessage {
    /// Session of the peer to which the message is sent. 0 if this process knew no session of the
    /// peer when it sent the message. The receiver is then the first session of the peer.
    pub(crate) session: u64,
    pub(crate) payload: Vec<u8>,
    /// Layer of the message if it is a heartbeat. A later heartbeat of the same layer replaces this
    /// heartbeat. `None` for other messages.
    pub(crate) heartbeat_layer: Option<Layer>,
    /// True if the message may overtake the messages that wait for the link.
    pub(crate) is_urgent: bool,
}

/// Size of the largest payload that may use the reserved part of an outbox, in bytes.
const SMALL_PAYLOAD_BYTES: usize = 4 << 10;

/// Divisor of the bytes of an outbox: one eighth is reserved for small messages. Many small
/// messages, such as forwarded requests and responses, are sent only once. Large messages, such as
/// log entries and pieces of a snapshot, are sent again if they are lost.
const RESERVED_PART: usize = 8;

/// Error of a message that exceeds the capacity of its outbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutboxFull;

/// Queue of messages to one peer. Its capacity includes messages that the link has written but the
/// peer has not acknowledged.
#[derive(Debug)]
pub(crate) struct Outbox {
    queue: Mutex<Queue>,
    wake: Notify,
    /// Notified when the outbox of any peer has room again.
    room: Arc<Notify>,
    capacity: QueueSize,
    /// True if [`Queue::half_full_since`] is set. This copy is read without the mutex.
    is_half_full: AtomicBool,
    /// True if [`Queue::urgent`] contains a message. This copy is read without the mutex.
    has_urgent: AtomicBool,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<OutgoingMessage>,
    /// Heartbeats that overtake the waiting messages, at most one per layer.
    urgent: Vec<OutgoingMessage>,
    /// For each layer with a heartbeat in `waiting`: the position of this heartbeat. A later
    /// heartbeat of the layer replaces it.
    heartbeats: Vec<(Layer, usize)>,
    /// Size of all messages that use capacity: waiting, or taken by the link and not acknowledged.
    held: QueueSize,
    /// Time at which a message raised the used capacity above half. `None` after the used capacity
    /// fell to half or below. Urgent heartbeats do not set this time.
    half_full_since: Option<Instant>,
}

impl Outbox {
    pub(crate) fn new(capacity: QueueSize, room: Arc<Notify>) -> Self {
        Outbox {
            queue: Mutex::default(),
            wake: Notify::new(),
            room,
            capacity,
            is_half_full: AtomicBool::new(false),
            has_urgent: AtomicBool::new(false),
        }
    }

    pub(crate) fn push(&self, message: OutgoingMessage) -> Result<(), OutboxFull> {
        let mut queue = self.lock();
        if message.is_urgent {
            return self.push_urgent(queue, message);
        }
        if let Some(layer) = message.heartbeat_layer {
            queue.drop_latest(layer);
        }
        let mut held = queue.held;
        held.add_payload(&message.payload);
        let reserved = match message.payload.len() <= SMALL_PAYLOAD_BYTES {
            true => 0,
            false => self.capacity.bytes / RESERVED_PART,
        };
        if held.messages > self.capacity.messages || held.bytes > self.capacity.bytes - reserved {
            return Err(OutboxFull);
        }
        queue.held = held;
        if let Some(layer) = message.heartbeat_layer {
            let index = queue.waiting.len();
            queue.heartbeats.push((layer, index));
        }
        queue.waiting.push_back(message);
        if queue.half_full_since.is_none() && self.exceeds_half(held) {
            queue.half_full_since = Some(Instant::now());
            self.is_half_full.store(true, Ordering::Relaxed);
        }
        drop(queue);
        self.wake.notify_one();
        Ok(())
    }

    /// Adds an urgent heartbeat. If an urgent heartbeat of the same layer still waits, drops the
    /// older heartbeat. The new heartbeat is accepted even if the outbox is full.
    fn push_urgent(
        &self,
        mut queue: MutexGuard<'_, Queue>,
        message: OutgoingMessage,
    ) -> Result<(), OutboxFull> {
        if let Some(at) =
            queue.urgent.iter().position(|it| it.heartbeat_layer == message.heartbeat_layer)
        {
            let dropped = queue.urgent.swap_remove(at);
            queue.held.messages -= 1;
            queue.held.bytes -= dropped.payload.len();
        }
        queue.held.add_payload(&message.payload);
        queue.urgent.push(message);
        drop(queue);
        self.has_urgent.store(true, Ordering::Release);
        self.wake.notify_one();
        Ok(())
    }

    /// Removes and returns an urgent message. Returns `None` if there is none. The message uses
    /// capacity until [`Outbox::release_capacity`] frees it.
    pub(crate) fn take_urgent(&self) -> Option<OutgoingMessage> {
        if !self.has_urgent.load(Ordering::Acquire) {
            return None;
        }
        let mut queue = self.lock();
        let message = queue.urgent.pop();
        self.has_urgent.store(!queue.urgent.is_empty(), Ordering::Release);
        message
    }

    /// Moves all waiting messages into `messages`, which must be empty. The messages use capacity
    /// of the outbox until [`Outbox::release_capacity`] frees it.
    pub(crate) fn take_all(&self, messages: &mut VecDeque<OutgoingMessage>) {
        let mut queue = self.lock();
        queue.heartbeats.clear();
        std::mem::swap(&mut queue.waiting, messages);
    }

    /// Waits until a message is added. Returns immediately if a message was added since the last
    /// call.
    pub(crate) async fn wait_for_message(&self) {
        self.wake.notified().await;
    }

    /// Frees the capacity of messages that were acknowledged or dropped.
    pub(crate) fn release_capacity(&self, size: QueueSize) {
        if size.messages == 0 {
            return;
        }
        let mut queue = self.lock();
        queue.held.messages -= size.messages;
        queue.held.bytes -= size.bytes;
        if queue.half_full_since.is_some() && !self.exceeds_half(queue.held) {
            queue.half_full_since = None;
            self.is_half_full.store(false, Ordering::Relaxed);
            drop(queue);
            self.room.notify_waiters();
        }
    }

    /// Returns true if at most half of the capacity is in use. Also returns true if more than half
    /// has been in use for longer than `half_full_timeout`. In that case the peer has stalled, and
    /// must not block messages to other peers forever.
    pub(crate) fn has_room(&self, half_full_timeout: Duration) -> bool {
        if !self.is_half_full.load(Ordering::Relaxed) {
            return true;
        }
        self.lock().half_full_since.is_none_or(|since| since.elapsed() >= half_full_timeout)
    }

    pub(crate) fn is_empty(&self) -> bool {
        let queue = self.lock();
        queue.waiting.is_empty() && queue.urgent.is_empty()
    }

    pub(crate) fn held_size(&self) -> QueueSize {
        self.lock().held
    }

    fn exceeds_half(&self, held: QueueSize) -> bool {
        held.messages > self.capacity.messages / 2 || held.bytes > self.capacity.bytes / 2
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().expect("the lock is not poisoned")
    }
}

impl Queue {
    /// Drops the waiting heartbeat of the layer, if there is one.
    fn drop_latest(&mut self, layer: Layer) {
        let Some(at) = self.heartbeats.iter().position(|(known, _)| *known == layer) else {
            return;
        };
        let (_, index) = self.heartbeats.swap_remove(at);
        for (_, other) in &mut self.heartbeats {
            *other -= usize::from(*other > index);
        }
        let dropped = self.waiting.remove(index).expect("the recorded position is valid");
        self.held.messages -= 1;
        self.held.bytes -= dropped.payload.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outbox() -> Outbox {
        Outbox::new(QueueSize { messages: 4, bytes: 100 }, Arc::new(Notify::new()))
    }

    fn message(length: usize) -> OutgoingMessage {
        OutgoingMessage {
            session: 0,
            payload: vec![0; length],
            heartbeat_layer: None,
            is_urgent: false,
        }
    }

    fn heartbeat(layer: Layer, number: u8) -> OutgoingMessage {
        OutgoingMessage { payload: vec![number], heartbeat_layer: Some(layer), ..message(0) }
    }

    #[test]
    fn keeps_latest_waiting_heartbeat_per_layer() {
        let outbox = outbox();
        for number in 0..100 {
            let layer = if number % 2 == 0 { Layer::Detector } else { Layer::Election };
            outbox.push(heartbeat(layer, number)).expect("the earlier heartbeat makes room");
            if number == 50 {
                outbox.push(message(0)).expect("room");
            }
        }
        let mut messages = VecDeque::new();
        outbox.take_all(&mut messages);
        let kept: Vec<_> = messages.iter().map(|message| message.payload.clone()).collect();
        assert_eq!(kept, [vec![], vec![98], vec![99]]);
        assert_eq!(outbox.held_size(), QueueSize { messages: 3, bytes: 2 });
        // A message that the link has taken is not replaced.
        outbox.push(heartbeat(Layer::Detector, 100)).expect("room for a fourth");
        assert_eq!(outbox.held_size(), QueueSize { messages: 4, bytes: 3 });
    }

    #[test]
    fn urgent_heartbeat_overtakes_messages_and_replaces_an_older_one() {
        let outbox = outbox();
        (0..4).for_each(|_| outbox.push(message(1)).expect("room for four"));
        for number in 1..=3 {
            let heartbeat = heartbeat(Layer::Agreement, number);
            outbox
                .push(OutgoingMessage { is_urgent: true, ..heartbeat })
                .expect("a heartbeat always has room");
        }
        assert_eq!(outbox.held_size(), QueueSize { messages: 5, bytes: 5 });
        assert_eq!(outbox.take_urgent().map(|message| message.payload), Some(vec![3]));
        assert!(outbox.take_urgent().is_none());
        assert_eq!(outbox.push(message(1)), Err(OutboxFull));
    }

    #[test]
    fn taken_messages_count_until_released() {
        let outbox = outbox();
        for _ in 0..4 {
            outbox.push(message(1)).expect("room for four");
        }
        let mut messages = VecDeque::new();
        outbox.take_all(&mut messages);
        assert_eq!(messages.len(), 4);
        assert_eq!(outbox.push(message(1)), Err(OutboxFull));
        outbox.release_capacity(QueueSize { messages: 1, bytes: 1 });
        assert_eq!(outbox.push(message(1)), Ok(()));
    }

    #[test]
    fn rejects_messages_above_byte_limit() {
        let outbox = outbox();
        assert_eq!(outbox.push(message(100)), Ok(()));
        assert_eq!(outbox.push(message(1)), Err(OutboxFull));
    }

    #[test]
    fn large_messages_leave_room_for_small_ones() {
        let bytes = 16 * SMALL_PAYLOAD_BYTES;
        let outbox = Outbox::new(QueueSize { messages: 100, bytes }, Arc::new(Notify::new()));
        assert_eq!(outbox.push(message(bytes - 2 * SMALL_PAYLOAD_BYTES + 1)), Err(OutboxFull));
        assert_eq!(outbox.push(message(bytes - 2 * SMALL_PAYLOAD_BYTES)), Ok(()));
        assert_eq!(outbox.push(message(SMALL_PAYLOAD_BYTES + 1)), Err(OutboxFull));
        assert_eq!(outbox.push(message(SMALL_PAYLOAD_BYTES)), Ok(()));
        assert_eq!(outbox.push(message(SMALL_PAYLOAD_BYTES)), Ok(()));
        assert_eq!(outbox.push(message(1)), Err(OutboxFull));
    }

    #[test]
    fn half_full_outbox_has_room_after_timeout() {
        let outbox = outbox();
        (0..3).for_each(|_| outbox.push(message(1)).expect("room for three"));
        assert!(!outbox.has_room(Duration::from_secs(3600)));
        assert!(outbox.has_room(Duration::ZERO), "the stall timeout has passed");
        outbox.release_capacity(QueueSize { messages: 1, bytes: 1 });
        assert!(outbox.has_room(Duration::from_secs(3600)));
    }
}
