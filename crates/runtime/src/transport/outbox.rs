//! The outbox of one peer: where the consumer's messages wait for the link, bounded.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::conversation::Amount;

/// A message and the session of the peer that its sender had in mind.
#[derive(Debug)]
pub(crate) struct Letter {
    /// 0 when no session of the peer had been seen: any first one will do.
    pub(crate) session: u64,
    pub(crate) payload: Vec<u8>,
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
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Letter>,
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
        }
    }

    /// Takes a message without waiting, and wakes the link.
    pub(crate) fn push(&self, letter: Letter) -> Result<(), Full> {
        let mut queue = self.lock();
        let mut held = queue.held;
        held.add(&letter.payload);
        if held.frames > self.most.frames || held.bytes > self.most.bytes {
            return Err(Full);
        }
        queue.held = held;
        queue.waiting.push_back(letter);
        if queue.crowded_since.is_none() && self.is_crowded(held) {
            queue.crowded_since = Some(Instant::now());
            self.crowded.store(true, Ordering::Relaxed);
        }
        drop(queue);
        self.wake.notify_one();
        Ok(())
    }

    /// Moves all that waits into `letters`, which must be empty. It stays counted as held.
    pub(crate) fn take(&self, letters: &mut VecDeque<Letter>) {
        std::mem::swap(&mut self.lock().waiting, letters);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn outbox() -> Outbox {
        Outbox::new(Amount { frames: 4, bytes: 100 }, Arc::new(Notify::new()))
    }

    fn letter(length: usize) -> Letter {
        Letter { session: 0, payload: vec![0; length] }
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
