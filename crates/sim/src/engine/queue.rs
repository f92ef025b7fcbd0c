//! A priority queue by time, for messages in flight and other events.

use crate::engine::radix_heap::RadixHeap;

/// Priority queue by time. Items with equal times are popped in the order in which they were
/// pushed. The time of a pushed item must not be before the time of the last popped item.
///
/// Each item stays at its place until it is popped, and only its key moves within the heap. So the
/// code of the heap does not depend on the type of the items.
#[derive(Debug)]
pub(crate) struct TimedQueue<T> {
    heap: RadixHeap,
    /// List of the items. The place of an item is its index in this list. `free` lists the places
    /// without an item.
    items: Vec<Option<T>>,
    free: Vec<u32>,
}

/// Number of items that usually fit into the cache of the processor.
const CACHED_ITEMS: usize = 1 << 16;

/// Maximum number of items that are loaded into the cache together.
const LOADED_ITEMS: usize = 256;

impl<T> TimedQueue<T> {
    pub(crate) const fn new() -> Self {
        TimedQueue { heap: RadixHeap::new(), items: Vec::new(), free: Vec::new() }
    }

    /// Returns the time of the next item. Returns `u64::MAX` if the queue is empty.
    #[inline]
    pub(crate) fn next_time(&self) -> u64 {
        self.heap.next_time()
    }

    #[inline]
    pub(crate) fn push(&mut self, time: u64, item: T) {
        let place = self.store(item);
        self.heap.push((time, place));
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(u64, T)> {
        let (time, place) = match self.heap.pop_sorted() {
            Some(key) => key,
            None => {
                self.refill();
                self.heap.pop_sorted()?
            }
        };
        Some((time, self.remove(place)?))
    }

    pub(crate) const fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Returns all items, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter().flatten()
    }

    /// Returns the first item for which `is_meant` returns true, and its time. Items are examined
    /// in the order in which they would be popped.
    pub(crate) fn find_first(&self, is_meant: impl Fn(u64, &T) -> bool) -> Option<(u64, &T)> {
        // `min_by_key` returns the first of the items with the earliest time.
        let meant = |(time, item): &(u64, &T)| is_meant(*time, item);
        self.timed_items().filter(meant).min_by_key(|(time, _)| *time)
    }

    /// Returns all items with their times, in the order of popping.
    pub(crate) fn in_pop_order(&self) -> Vec<(u64, &T)> {
        let mut items: Vec<_> = self.timed_items().collect();
        items.sort_by_key(|(time, _)| *time);
        items
    }

    /// Removes and returns the first item with the time `time` for which `is_meant` returns true.
    pub(crate) fn remove_first(&mut self, time: u64, is_meant: impl Fn(&T) -> bool) -> Option<T> {
        let TimedQueue { heap, items, .. } = self;
        let (_, place) = heap.remove_first(|(at, place)| {
            *at == time && items[*place as usize].as_ref().is_some_and(&is_meant)
        })?;
        self.remove(place)
    }

    /// Moves all items with a time before `earliest_time` to that time. Their order stays the same.
    pub(crate) fn postpone_until(&mut self, earliest_time: u64) {
        let mut postponed = TimedQueue::new();
        while let Some((time, item)) = self.pop() {
            postponed.push(time.max(earliest_time), item);
        }
        *self = postponed;
    }

    /// Returns all items with their times. Items with equal times are in the order of pushing.
    fn timed_items(&self) -> impl Iterator<Item = (u64, &T)> {
        let keys = self.heap.keys();
        keys.filter_map(|(time, place)| Some((time, self.items[place as usize].as_ref()?)))
    }

    /// Sorts the keys of the items that are popped next.
    fn refill(&mut self) {
        self.heap.refill();
        if self.items.len() > CACHED_ITEMS {
            // These loads overlap, so that no pop waits for its item.
            for (_, place) in self.heap.sorted().take(LOADED_ITEMS) {
                std::hint::black_box(self.items[place as usize].is_some());
            }
        }
    }

    #[inline]
    fn store(&mut self, item: T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.items[place as usize] = Some(item);
            return place;
        }
        let place = u32::try_from(self.items.len()).expect("fewer than 2^32 items wait");
        self.items.push(Some(item));
        place
    }

    #[inline]
    fn remove(&mut self, place: u32) -> Option<T> {
        self.free.push(place);
        self.items[place as usize].take()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::engine::random::Random;

    /// Pushes and pops random items, and asserts that the queue and an ordered map pop the same
    /// items.
    fn agrees_with_a_map(seed: u64, spread: u64, burst: u64) {
        let mut random = Random::new(seed);
        let (mut queue, mut map) = (TimedQueue::new(), BTreeMap::new());
        let mut now = 0;
        for number in 0..3000u64 {
            for copy in 0..random.below(burst) {
                let time = now + random.below(spread);
                queue.push(time, (number, copy));
                map.insert((time, number, copy), ());
            }
            for _ in 0..random.below(burst) {
                let soonest = map.pop_first();
                let time = soonest.map_or(u64::MAX, |((time, ..), ())| time);
                assert_eq!(queue.next_time(), time, "seed {seed}");
                let expected = soonest.map(|((time, number, copy), ())| (time, (number, copy)));
                assert_eq!(queue.pop(), expected, "seed {seed}");
                assert_eq!(queue.len(), map.len(), "seed {seed}");
                now = if time == u64::MAX { now } else { time };
            }
        }
        assert_eq!(queue.iter().count(), map.len(), "seed {seed}");
    }

    #[test]
    fn pops_by_time_then_insertion_order() {
        for seed in 0..20 {
            for (spread, burst) in [(1, 4), (3, 9), (100, 3), (1 << 40, 5), (50, 200)] {
                agrees_with_a_map(seed, spread, burst);
            }
        }
    }

    #[test]
    fn take_removes_only_selected_item() {
        for seed in 0..20 {
            let mut random = Random::new(seed);
            let (mut queue, mut map) = (TimedQueue::new(), BTreeMap::new());
            let mut now = 0;
            for number in 0..600u64 {
                let spread = 1 << random.below(20);
                let time = now + random.below(spread);
                queue.push(time, number);
                map.insert((time, number), ());
                if random.below(3) == 0 {
                    let place = random.below(map.len() as u64) as usize;
                    let (time, number) = *map.keys().nth(place).unwrap();
                    assert_eq!(queue.remove_first(time, |item| *item == number), Some(number));
                    assert_eq!(
                        queue.remove_first(time, |item| *item == number),
                        None,
                        "seed {seed}"
                    );
                    map.remove(&(time, number));
                }
                if random.below(3) == 0 {
                    let soonest = map.pop_first().map(|((time, number), ())| (time, number));
                    assert_eq!(queue.pop(), soonest, "seed {seed}");
                    now = soonest.map_or(now, |(time, _)| time);
                }
                let waiting: Vec<_> = queue.in_pop_order().iter().map(|(t, n)| (*t, **n)).collect();
                let expected: Vec<_> = map.keys().copied().collect();
                let first =
                    |is: fn(u64) -> bool| queue.find_first(|_, n| is(*n)).map(|(t, n)| (t, *n));
                assert_eq!(first(|_| true), expected.first().copied());
                let odd = expected.iter().find(|(_, number)| number % 2 == 1);
                assert_eq!(first(|number| number % 2 == 1), odd.copied(), "seed {seed}");
                assert_eq!(waiting, expected, "seed {seed}");
            }
            queue.postpone_until(now + 1000);
            let times: Vec<_> = queue.in_pop_order().iter().map(|(time, _)| *time).collect();
            assert!(times.len() == map.len() && times.iter().all(|time| *time >= now + 1000));
        }
    }

    #[test]
    fn handles_largest_times() {
        let mut queue = TimedQueue::new();
        queue.push(u64::MAX - 1, 2);
        queue.push(0, 1);
        queue.push(u64::MAX - 1, 3);
        (4..200).for_each(|item| queue.push(u64::MAX, item));
        let popped: Vec<i32> = std::iter::from_fn(|| queue.pop()).map(|(_, item)| item).collect();
        assert!(popped.into_iter().eq(1..200));
    }
}
