//! Functions that wait for a condition or for a slot. The number of slots limits the number of
//! clusters that run at the same time.

use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Time limit of each wait in a test. The limit exceeds three minutes, because a run on a busy
/// machine gives up only after three minutes.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(300);

/// Maximum number of clusters that tests run at the same time. A cluster mostly waits, so several
/// clusters can share the processors.
const CAPACITY: usize = 3;

/// Number of free slots. A test takes one slot for each cluster that it runs.
static FREE_SLOTS: Mutex<usize> = Mutex::new(CAPACITY);

static RELEASED: Condvar = Condvar::new();

/// Slots that a test has taken, one for each of the test's clusters. The slots become free when
/// this value is dropped.
pub(crate) struct Slots(usize);

pub(crate) fn cluster_slot() -> Slots {
    Slots::wait_for(1)
}

/// Waits until all slots are free, and takes all of them. No other test can then take a slot. Tests
/// that overload the machine use this function.
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

/// Repeats `ask` until it returns a value. Panics with `what` after the time limit.
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
