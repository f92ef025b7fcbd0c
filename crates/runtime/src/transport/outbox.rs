//! The outbox of one peer: where the consumer's messages wait for the link, bounded.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tenure_core::Layer;
use tokio::sync::Notify;

use super::conversation::Amount;

/// A message and the session of the peer that its sender had in mind.
#[derive(Debug)]
pub(crate) struct Letter {
    /// 0 when no session of the peer had been seen: any first one will do.
    pub(crate) session: u64,
    pub(crate) payload: Vec<u8>,
    /// Of a heartbeat, which is worth nothing when another of its layer follows: the layer.
    pub(crate) latest_of: Option<Layer>,
    /// True if it may overtake the messages that wait for the link.
    pub(crate) is_urgent: bool,
}

/// The outbox is full and the message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// Messages on their way to one peer. The bounds cover those that wait here and those that the
/// link has written and the peer has not acknowledged.
#[derive(Debug)]
pub(crate) struct Outbox {
    queue: Mutex<Queue>,
    wake: Notify,
    /// Told whenever an outbox, of any peer, has room again.
    room: Arc<Notify>,
    most: Amount,
    crowded: AtomicBool,
    has_urgent: AtomicBool,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Letter>,
    /// Those that overtake the others: the last of each layer.
    urgent: Vec<Letter>,
    /// Where those wait that another of their layer makes worthless, one of each layer.
    latest: Vec<(Layer, usize)>,
    held: Amount,
    crowded_since: Option<Instant>,
}

impl Outbox {
    pub(crate) fn new(most: Amount, room: Arc<Notify>) -> Self {
        Outbox {
            queue: Mutex::default(),
            wake: Notify::new(),
            room,
            most,
            crowded: AtomicBool::new(false),
            has_urgent: AtomicBool::new(false),
        }
    }

    /// Takes a message without waiting, and wakes the link.
    pub(crate) fn push(&self, letter: Letter) -> Result<(), Full> {
        let mut queue = self.lock();
        if letter.is_urgent {
            return self.push_urgent(queue, letter);
        }
        if let Some(layer) = letter.latest_of {
            queue.drop_latest(layer);
        }
        let mut held = queue.held;
        held.add(&letter.payload);
        if held.frames > self.most.frames || held.bytes > self.most.bytes {
            return Err(Full);
        }
        queue.held = held;
        if let Some(layer) = letter.latest_of {
            let place = queue.waiting.len();
            queue.latest.push((layer, place));
        }
        queue.waiting.push_back(letter);
        if queue.crowded_since.is_none() && self.is_crowded(held) {
            queue.crowded_since = Some(Instant::now());
            self.crowded.store(true, Ordering::Relaxed);
        }
        drop(queue);
        self.wake.notify_one();
        Ok(())
    }

    /// Takes a heartbeat in the place of the one of its layer that waits. It has room even where
    /// large messages have used it up.
    fn push_urgent(&self, mut queue: MutexGuard<'_, Queue>, letter: Letter) -> Result<(), Full> {
        if let Some(at) = queue.urgent.iter().position(|it| it.latest_of == letter.latest_of) {
            let dropped = queue.urgent.swap_remove(at);
            queue.held.frames -= 1;
            queue.held.bytes -= dropped.payload.len();
        }
        queue.held.add(&letter.payload);
        queue.urgent.push(letter);
        drop(queue);
        self.has_urgent.store(true, Ordering::Release);
        self.wake.notify_one();
        Ok(())
    }

    /// Takes the next message that overtakes the others. It stays counted as held.
    pub(crate) fn take_urgent(&self) -> Option<Letter> {
        if !self.has_urgent.load(Ordering::Acquire) {
            return None;
        }
        let mut queue = self.lock();
        let letter = queue.urgent.pop();
        self.has_urgent.store(!queue.urgent.is_empty(), Ordering::Release);
        letter
    }

    /// Moves all that waits into `letters`, which must be empty. It stays counted as held.
    pub(crate) fn take(&self, letters: &mut VecDeque<Letter>) {
        let mut queue = self.lock();
        queue.latest.clear();
        std::mem::swap(&mut queue.waiting, letters);
    }

    /// Comes back when something was pushed since the last time.
    pub(crate) async fn woken(&self) {
        self.wake.notified().await;
    }

    /// Stops counting messages that were acknowledged or discarded.
    pub(crate) fn release(&self, amount: Amount) {
        if amount.frames == 0 {
            return;
        }
        let mut queue = self.lock();
        queue.held.frames -= amount.frames;
        queue.held.bytes -= amount.bytes;
        if queue.crowded_since.is_some() && !self.is_crowded(queue.held) {
            queue.crowded_since = None;
            self.crowded.store(false, Ordering::Relaxed);
            drop(queue);
            self.room.notify_waiters();
        }
    }

    /// Whether less than half is in use, or more has been for longer than `patience`: a peer
    /// that does not move must not hold up the others for ever.
    pub(crate) fn has_room(&self, patience: Duration) -> bool {
        if !self.crowded.load(Ordering::Relaxed) {
            return true;
        }
        self.lock().crowded_since.is_none_or(|since| since.elapsed() >= patience)
    }

    /// Whether nothing waits that the link has not taken yet.
    pub(crate) fn is_taken(&self) -> bool {
        let queue = self.lock();
        queue.waiting.is_empty() && queue.urgent.is_empty()
    }

    pub(crate) fn held(&self) -> Amount {
        self.lock().held
    }

    fn is_crowded(&self, held: Amount) -> bool {
        held.frames > self.most.frames / 2 || held.bytes > self.most.bytes / 2
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().expect("no code panics while it holds an outbox")
    }
}

impl Queue {
    /// Drops the heartbeat of this layer that waits, if one does: another is about to follow.
    fn drop_latest(&mut self, layer: Layer) {
        let Some(at) = self.latest.iter().position(|(known, _)| *known == layer) else { return };
        let (_, place) = self.latest.swap_remove(at);
        for (_, other) in &mut self.latest {
            *other -= usize::from(*other > place);
        }
        let dropped = self.waiting.remove(place).expect("what waits is where it was put");
        self.held.frames -= 1;
        self.held.bytes -= dropped.payload.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outbox() -> Outbox {
        Outbox::new(Amount { frames: 4, bytes: 100 }, Arc::new(Notify::new()))
    }

    fn letter(length: usize) -> Letter {
        Letter { session: 0, payload: vec![0; length], latest_of: None, is_urgent: false }
    }

    #[test]
    fn of_heartbeats_that_wait_the_last_of_each_layer_is_kept_in_its_place() {
        let outbox = outbox();
        for number in 0..100 {
            let layer = if number % 2 == 0 { Layer::Detector } else { Layer::Election };
            let latest_of = Some(layer);
            let latest = Letter { session: 0, payload: vec![number], latest_of, is_urgent: false };
            outbox.push(latest).expect("the one before makes room");
            if number == 50 {
                outbox.push(letter(0)).expect("room");
            }
        }
        let mut letters = VecDeque::new();
        outbox.take(&mut letters);
        let kept: Vec<_> = letters.iter().map(|letter| letter.payload.clone()).collect();
        assert_eq!(kept, [vec![], vec![98], vec![99]]);
        assert_eq!(outbox.held(), Amount { frames: 3, bytes: 2 });
        // What was taken is out of reach.
        let latest_of = Some(Layer::Detector);
        let latest = Letter { session: 0, payload: vec![100], latest_of, is_urgent: false };
        outbox.push(latest).expect("room for a fourth");
        assert_eq!(outbox.held(), Amount { frames: 4, bytes: 3 });
    }

    #[test]
    fn urgent_heartbeat_overtakes_messages_and_replaces_an_older_one() {
        let outbox = outbox();
        (0..4).for_each(|_| outbox.push(letter(1)).expect("room for four"));
        for number in 1..=3 {
            let latest_of = Some(Layer::Agreement);
            let urgent = Letter { session: 0, payload: vec![number], latest_of, is_urgent: true };
            outbox.push(urgent).expect("a heartbeat always has room");
        }
        assert_eq!(outbox.held(), Amount { frames: 5, bytes: 5 });
        assert_eq!(outbox.take_urgent().map(|letter| letter.payload), Some(vec![3]));
        assert!(outbox.take_urgent().is_none());
        assert_eq!(outbox.push(letter(1)), Err(Full));
    }

    #[test]
    fn what_was_taken_but_not_released_still_counts() {
        let outbox = outbox();
        for _ in 0..4 {
            outbox.push(letter(1)).expect("room for four");
        }
        let mut letters = VecDeque::new();
        outbox.take(&mut letters);
        assert_eq!(letters.len(), 4);
        assert_eq!(outbox.push(letter(1)), Err(Full));
        outbox.release(Amount { frames: 1, bytes: 1 });
        assert_eq!(outbox.push(letter(1)), Ok(()));
    }

    #[test]
    fn bytes_are_bounded_too() {
        let outbox = outbox();
        assert_eq!(outbox.push(letter(100)), Ok(()));
        assert_eq!(outbox.push(letter(1)), Err(Full));
    }

    #[test]
    fn a_crowded_outbox_has_no_room_until_patience_ends_or_half_is_free() {
        let outbox = outbox();
        (0..3).for_each(|_| outbox.push(letter(1)).expect("room for three"));
        assert!(!outbox.has_room(Duration::from_secs(3600)));
        assert!(outbox.has_room(Duration::ZERO), "patience has ended");
        outbox.release(Amount { frames: 1, bytes: 1 });
        assert!(outbox.has_room(Duration::from_secs(3600)));
    }
}
