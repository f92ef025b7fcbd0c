//! A queue of timers, for callers that run the state machines of this crate with a clock.

use alloc::collections::{BTreeMap, BTreeSet};

/// Running timers. `K` is the type of the names of timers, and `T` is the type of times.
#[derive(Clone, Debug)]
pub struct TimerQueue<K, T> {
    /// Running timers in the order in which they are due.
    due: BTreeSet<(T, K)>,
    /// Time at which each running timer is due.
    at: BTreeMap<K, T>,
}

impl<K, T> Default for TimerQueue<K, T> {
    fn default() -> Self {
        TimerQueue { due: BTreeSet::new(), at: BTreeMap::new() }
    }
}

impl<K: Ord + Copy, T: Ord + Copy> TimerQueue<K, T> {
    /// Arms a timer that is due at `due_at`. Replaces a running timer of the same name.
    pub fn arm(&mut self, timer: K, due_at: T) {
        if let Some(before) = self.at.insert(timer, due_at) {
            self.due.remove(&(before, timer));
        }
        self.due.insert((due_at, timer));
    }

    /// Disarms a timer if it runs.
    pub fn disarm(&mut self, timer: K) {
        if let Some(before) = self.at.remove(&timer) {
            self.due.remove(&(before, timer));
        }
    }

    /// Returns the time at which a timer is due. Returns `None` if the timer does not run.
    pub fn due_at(&self, timer: K) -> Option<T> {
        self.at.get(&timer).copied()
    }

    /// Returns the time at which the first timer is due; `None` if no timer runs.
    pub fn next_due(&self) -> Option<T> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Removes the timer that is due first, and returns it with the time at which it was due.
    /// Returns `None` if no timer is due at `now`.
    pub fn pop_due(&mut self, now: T) -> Option<(K, T)> {
        let (at, timer) = *self.due.first()?;
        if at > now {
            return None;
        }
        self.disarm(timer);
        Some((timer, at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_fire_once_in_due_order() {
        let mut timers = TimerQueue::default();
        timers.arm('a', 3);
        timers.arm('b', 2);
        timers.arm('c', 9);
        timers.arm('d', 1);
        timers.arm('b', 4);
        timers.disarm('d');
        assert_eq!(
            (timers.next_due(), timers.due_at('b'), timers.due_at('d')),
            (Some(3), Some(4), None)
        );
        let fired = (timers.pop_due(2), timers.pop_due(4), timers.pop_due(4));
        assert_eq!(fired, (None, Some(('a', 3)), Some(('b', 4))));
        assert_eq!((timers.pop_due(4), timers.next_due()), (None, Some(9)));
    }
}
