//! Waiting for what real processes do in their own time.

use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Nothing here takes that long, unless it hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// How many clusters there may be at a time: each waits more than it works.
const ROOM: usize = 3;

/// How much of the room is free.
static FREE: Mutex<usize> = Mutex::new(ROOM);

/// Somebody has left.
static LEFT: Condvar = Condvar::new();

/// A share of the room for clusters, until it is dropped.
pub(crate) struct Place(usize);

/// Waits for the place that a cluster needs.
pub(crate) fn place() -> Place {
    Place::wait_for(1)
}

/// Waits for all the room there is: what floods its machine would be the others' failure.
pub(crate) fn alone() -> Place {
    Place::wait_for(ROOM)
}

impl Place {
    fn wait_for(share: usize) -> Place {
        let free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        let too_little = |free: &mut usize| *free < share;
        let free = LEFT.wait_while(free, too_little);
        *free.unwrap_or_else(PoisonError::into_inner) -= share;
        Place(share)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *FREE.lock().unwrap_or_else(PoisonError::into_inner) += self.0;
        LEFT.notify_all();
    }
}

/// Asks again and again until there is an answer.
#[track_caller]
pub(crate) fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(start.elapsed() < PATIENCE, "{what} did not come");
        sleep(Duration::from_millis(10));
    }
}
