//! Timers by when they are due: what a shell with a clock keeps for those that decide without one.

use alloc::collections::{BTreeMap, BTreeSet};

/// The timers that run, each with a name and a moment of whatever clock.
#[derive(Clone, Debug)]
pub struct Timers<K, T> {
    due: BTreeSet<(T, K)>,
    at: BTreeMap<K, T>,
}

impl<K, T> Default for Timers<K, T> {
    fn default() -> Self {
        Timers { due: BTreeSet::new(), at: BTreeMap::new() }
    }
}

impl<K: Ord + Copy, T: Ord + Copy> Timers<K, T> {
    /// Arms a timer; one of the same name is replaced.
    pub fn arm(&mut self, timer: K, at: T) {
        if let Some(before) = self.at.insert(timer, at) {
            self.due.remove(&(before, timer));
        }
        self.due.insert((at, timer));
    }

    /// Disarms a timer, if it runs.
    pub fn disarm(&mut self, timer: K) {
        if let Some(before) = self.at.remove(&timer) {
            self.due.remove(&(before, timer));
        }
    }

    /// When a timer is due, if it runs.
    pub fn at(&self, timer: K) -> Option<T> {
        self.at.get(&timer).copied()
    }

    /// When the first is due.
    pub fn next(&self) -> Option<T> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Takes the first of those that are due by now, with the moment when it was due. The others
    /// are not looked at.
    pub fn fire(&mut self, now: T) -> Option<(K, T)> {
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
    fn timers_fire_in_the_order_in_which_they_are_due_and_once() {
        let mut timers = Timers::default();
        timers.arm('a', 3);
        timers.arm('b', 2);
        timers.arm('c', 9);
        timers.arm('d', 1);
        timers.arm('b', 4);
        timers.disarm('d');
        assert_eq!((timers.next(), timers.at('b'), timers.at('d')), (Some(3), Some(4), None));
        let fired = (timers.fire(2), timers.fire(4), timers.fire(4));
        assert_eq!(fired, (None, Some(('a', 3)), Some(('b', 4))));
        assert_eq!((timers.fire(4), timers.next()), (None, Some(9)));
    }
}
