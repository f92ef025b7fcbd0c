//! A priority queue by time: a radix heap, for messages in flight and other events.

use std::collections::VecDeque;

/// Priority queue by time. Items with equal times are popped in the order in which they were
/// pushed. The time of a pushed item must not be before the time of the last popped item.
///
/// The items stay in place. Only their keys move, so the code that moves keys does not depend on
/// the type of the items.
#[derive(Debug)]
pub(crate) struct TimedQueue<T> {
    keys: Keys,
    /// List of the items. The place of an item is its index in this list, and the key of the item
    /// contains this place. `free` lists the places without an item.
    items: Vec<Option<T>>,
    free: Vec<u32>,
}

/// Time of an item, and its place in [`TimedQueue::items`].
type Key = (u64, u32);

/// Keys of the items, in order of time, as a radix heap.
///
/// `base` is the time of the earliest item at the last refill of the sorted list `near`. The other
/// keys are in buckets. For a key in bucket *i*, bit *i* is the highest bit in which its time
/// differs from `base`. So the lowest bucket that is not empty holds the earliest of these keys.
/// When `near` is empty, this bucket is sorted if it is small. Otherwise, its keys are distributed
/// over the lower buckets.
///
/// Each key moves only a few times, always between contiguous pieces of memory. A binary heap with
/// a million messages would miss the cache at nearly every level. Keys with equal times share a
/// bucket and keep their order, so no sequence numbers are needed. No parameter depends on the
/// distribution of delays.
#[derive(Debug)]
struct Keys {
    /// Keys of the items with times before `limit`, sorted by time.
    near: VecDeque<Key>,
    limit: u64,
    base: u64,
    buckets: [Vec<Key>; BITS],
    /// Earliest time in each bucket; `u64::MAX` if the bucket is empty.
    soonest: [u64; BITS],
    /// Memory of small buckets that became empty. Other buckets reuse this memory when keys move to
    /// them.
    spare: Vec<Vec<Key>>,
    /// Bit *i* is set if bucket *i* is not empty.
    filled: u64,
}

const BITS: usize = u64::BITS as usize;

/// Maximum number of items in a bucket that is sorted as a whole. A larger bucket is not sorted:
/// its items are distributed over the lower buckets.
const SORTED_BUCKET_MAX: usize = 48;

/// Maximum capacity, in keys, of an emptied bucket whose memory other buckets may reuse. A bucket
/// with a larger capacity keeps its memory.
const SPARE_CAPACITY_MAX: usize = 512;

/// Maximum number of keys in the sorted list. If the list grows beyond this number, all keys except
/// those with the earliest time move to buckets.
const MAX_SORTED: usize = 96;

/// Number of items that usually fit into the cache of the processor.
const CACHED_ITEMS: usize = 1 << 16;

impl<T> TimedQueue<T> {
    pub(crate) fn new() -> Self {
        TimedQueue { keys: Keys::new(), items: Vec::new(), free: Vec::new() }
    }

    /// Returns the time of the next item. Returns `u64::MAX` if the queue is empty.
    #[inline]
    pub(crate) fn next_time(&self) -> u64 {
        self.keys.next_time()
    }

    #[inline]
    pub(crate) fn push(&mut self, time: u64, item: T) {
        let place = self.store(item);
        self.keys.push((time, place));
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(u64, T)> {
        if self.keys.refill_if_empty() {
            self.load_next_items();
        }
        let (time, place) = self.keys.near.pop_front()?;
        self.remove(place).map(|item| (time, item))
    }

    pub(crate) const fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns all items, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter().flatten()
    }

    /// Returns the first item for which `is_meant` returns true, and its time. Items are examined
    /// in the order in which they would be popped.
    pub(crate) fn find_first(&self, is_meant: impl Fn(u64, &T) -> bool) -> Option<(u64, &T)> {
        // The near items are sorted. In a bucket, items of equal times are in the order of pushing,
        // and `min_by_key` returns the first of them.
        let item = |key: &Key| self.item(*key);
        let meant = |(time, item): &(u64, &T)| is_meant(*time, item);
        let near = self.keys.near.iter().filter_map(item).find(meant);
        let later = || self.keys.buckets.iter().flatten().filter_map(item).filter(meant);
        near.or_else(|| later().min_by_key(|(time, _)| *time))
    }

    /// Returns all items with their times, in the order of popping.
    pub(crate) fn in_pop_order(&self) -> Vec<(u64, &T)> {
        self.keys.in_order().into_iter().filter_map(|key| self.item(key)).collect()
    }

    /// Removes and returns the first item with the time `time` for which `is_meant` returns true.
    pub(crate) fn remove_first(&mut self, time: u64, is_meant: impl Fn(&T) -> bool) -> Option<T> {
        let TimedQueue { keys, items, .. } = self;
        let is = |(at, place): &Key| {
            *at == time && items[*place as usize].as_ref().is_some_and(&is_meant)
        };
        let place = keys.take(&is)?;
        self.remove(place)
    }

    /// Moves all items with a time before `earliest_time` to that time. Their order stays the same.
    pub(crate) fn postpone_until(&mut self, earliest_time: u64) {
        let mut keys = Keys::new();
        while let Some((time, place)) = self.keys.pop() {
            keys.push((time.max(earliest_time), place));
        }
        self.keys = keys;
    }

    /// Loads the items of the sorted list into the cache of the processor. Does nothing if the
    /// queue is so small that its items are probably in the cache already. The loads overlap, which
    /// is faster than if each later pop waited for its own item.
    fn load_next_items(&self) {
        if self.items.len() > CACHED_ITEMS {
            for (_, place) in &self.keys.near {
                std::hint::black_box(self.items[*place as usize].is_some());
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

    fn item(&self, (time, place): Key) -> Option<(u64, &T)> {
        self.items[place as usize].as_ref().map(|item| (time, item))
    }
}

impl Keys {
    fn new() -> Self {
        Keys {
            near: VecDeque::new(),
            limit: 0,
            base: 0,
            buckets: [const { Vec::new() }; BITS],
            soonest: [u64::MAX; BITS],
            spare: Vec::new(),
            filled: 0,
        }
    }

    #[inline]
    fn next_time(&self) -> u64 {
        match self.near.front() {
            Some((time, _)) => *time,
            None if self.filled == 0 => u64::MAX,
            None => self.soonest[self.filled.trailing_zeros() as usize],
        }
    }

    #[inline]
    fn push(&mut self, key: Key) {
        debug_assert!(key.0 >= self.base, "time does not run backwards");
        if key.0 < self.limit {
            self.insert(key);
        } else {
            self.place(key);
        }
    }

    /// Refills the sorted list if it is empty. Returns true if it was empty.
    #[inline]
    fn refill_if_empty(&mut self) -> bool {
        let was_empty = self.near.is_empty();
        if was_empty {
            self.refill();
        }
        was_empty
    }

    #[inline]
    fn pop(&mut self) -> Option<Key> {
        self.refill_if_empty();
        self.near.pop_front()
    }

    fn in_order(&self) -> Vec<Key> {
        let mut keys: Vec<Key> =
            self.near.iter().chain(self.buckets.iter().flatten()).copied().collect();
        keys.sort_by_key(|(time, _)| *time);
        keys
    }

    /// Removes the first key for which `is_meant` returns true, and returns the place of its item.
    fn take(&mut self, is_meant: &dyn Fn(&Key) -> bool) -> Option<u32> {
        if let Some(index) = self.near.iter().position(is_meant) {
            let (_, place) = self.near.remove(index)?;
            return Some(place);
        }
        let mut buckets = self.buckets.iter().enumerate();
        let (number, index) = buckets
            .find_map(|(number, bucket)| Some((number, bucket.iter().position(is_meant)?)))?;
        let bucket = &mut self.buckets[number];
        let (_, place) = bucket.remove(index);
        let soonest = bucket.iter().map(|(time, _)| *time).min();
        self.soonest[number] = soonest.unwrap_or(u64::MAX);
        if bucket.is_empty() {
            self.filled &= !(1 << number);
        }
        Some(place)
    }

    /// Puts a key into its bucket. The index of the bucket is the position of the highest bit in
    /// which the key's time differs from `base`. Bit 0 is the lowest bit.
    #[inline]
    fn place(&mut self, key: Key) {
        let differs = key.0 ^ self.base;
        if differs == 0 {
            // The times are equal only before the first refill, while the sorted list is empty.
            self.limit = self.base.saturating_add(1);
            self.near.push_back(key);
            return;
        }
        let bucket = BITS - 1 - differs.leading_zeros() as usize;
        self.filled |= 1 << bucket;
        self.soonest[bucket] = self.soonest[bucket].min(key.0);
        let keys = &mut self.buckets[bucket];
        if keys.capacity() == 0
            && let Some(spare) = self.spare.pop()
        {
            *keys = spare;
        }
        keys.push(key);
    }

    /// Inserts a key into the sorted list, behind the keys with the same time.
    fn insert(&mut self, key: Key) {
        if self.near.back().is_none_or(|(last, _)| *last <= key.0) {
            self.near.push_back(key);
        } else {
            let place = self.near.partition_point(|(time, _)| *time <= key.0);
            self.near.insert(place, key);
        }
        if self.near.len() > MAX_SORTED {
            self.spread_sorted();
        }
    }

    /// Moves all keys of the sorted list into buckets, except the keys with the earliest time.
    #[cold]
    fn spread_sorted(&mut self) {
        let first = self.near[0].0;
        if self.limit == first.saturating_add(1) {
            return;
        }
        let kept = self.near.partition_point(|(time, _)| *time == first);
        self.limit = first.saturating_add(1);
        let mut rest = self.near.split_off(kept);
        for key in rest.drain(..) {
            self.place(key);
        }
    }

    /// Moves the keys with the earliest times from their bucket to the sorted list.
    fn refill(&mut self) {
        if self.filled == 0 {
            return;
        }
        let bucket = self.filled.trailing_zeros() as usize;
        self.filled &= !(1 << bucket);
        let first = std::mem::replace(&mut self.soonest[bucket], u64::MAX);
        let mut keys = std::mem::take(&mut self.buckets[bucket]);
        let end = ((first >> bucket) << bucket).saturating_add(1 << bucket);
        self.base = first;
        // An emptied deque begins at the start of its memory again, so its items stay contiguous.
        self.near.clear();
        if keys.len() <= SORTED_BUCKET_MAX {
            self.limit = end;
            keys.sort_by_key(|(time, _)| *time);
            self.near.extend(keys.drain(..));
        } else {
            self.limit = first.saturating_add(1);
            for key in keys.drain(..) {
                if key.0 == first {
                    self.near.push_back(key);
                } else {
                    self.place(key);
                }
            }
        }
        // The memory of the emptied bucket is reused: large memory in the same bucket, small memory
        // in any bucket.
        if keys.capacity() <= SPARE_CAPACITY_MAX {
            self.spare.push(keys);
        } else {
            self.buckets[bucket] = keys;
        }
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
