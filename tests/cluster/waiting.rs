//! Waiting for real processes.

use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Time limit for any wait. A run on a busy machine gives up after three minutes.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(300);

/// Maximum number of clusters at the same time: each one waits more than it works.
const CAPACITY: usize = 3;

/// Number of free slots.
static FREE_SLOTS: Mutex<usize> = Mutex::new(CAPACITY);

/// Notified when a slot becomes free.
static RELEASED: Condvar = Condvar::new();

/// Slots for clusters, released on drop.
pub(crate) struct Slots(usize);

/// Waits for the slot of one cluster.
pub(crate) fn cluster_slot() -> Slots {
    Slots::wait_for(1)
}

/// Waits for all slots, for a test that overloads the machine: other tests would fail meanwhile.
pub(crate) fn all_slots() -> Slots {
    Slots::wait_for(CAPACITY)
}

impl Slots {
    fn wait_for(share: usize) -> Slots {
        let free = FREE_SLOTS.lock().unwrap_or_else(PoisonError::into_inner);
        let too_little = |free: &mut usize| *free < share;
        let free = RELEASED.wait_while(free, too_little);
        *free.unwrap_or_else(PoisonError::into_inner) -= share;
        Slots(share)
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        *FREE_SLOTS.lock().unwrap_or_else(PoisonError::into_inner) += self.0;
        RELEASED.notify_all();
    }
}

/// Repeats `ask` until it returns a value.
#[track_caller]
pub(crate) fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(start.elapsed() < TIME_LIMIT, "{what} did not come");
        sleep(Duration::from_millis(10));
    }
}
