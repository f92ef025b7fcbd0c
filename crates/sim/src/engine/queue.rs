//! A priority queue by time: a radix heap, for messages in flight and other events.

use std::collections::VecDeque;

/// Priority queue by time. Items with equal times are popped in the order in which they were
/// pushed. The time of a pushed item must not be before the time of the last popped item.
///
/// The items that are popped next are in a sorted list. The other items stay in place, and only
/// their keys move between the buckets. So the code that moves keys does not depend on the type of
/// the items.
#[derive(Debug)]
pub(crate) struct TimedQueue<T> {
    /// Items with times before `limit`, sorted by time.
    near: VecDeque<(u64, T)>,
    limit: u64,
    /// Keys of the other items.
    buckets: Buckets,
    /// List of the other items. The place of an item is its index in this list, and the key of the
    /// item contains this place. `free` lists the places without an item.
    items: Vec<Option<T>>,
    free: Vec<u32>,
    /// Keys that move to the sorted list. Empty except during the move.
    earliest: Vec<Key>,
}

/// Time of an item, and its place in [`TimedQueue::items`].
type Key = (u64, u32);

/// Keys of items, as the buckets of a radix heap.
///
/// Whenever a bucket is emptied, `base` becomes the earliest time in this bucket. For a key in
/// bucket *i*, bit *i* is the highest bit in which its time differs from `base`. So the lowest
/// bucket that is not empty holds the earliest keys. This bucket is emptied when the sorted list is
/// empty. All keys of a small bucket move to the sorted list. From a large bucket, only the keys
/// with the earliest time move to the sorted list, and the others move to lower buckets.
///
/// Each key moves only a few times, always between contiguous pieces of memory. A binary heap with
/// a million messages would miss the cache at nearly every level. Keys with equal times share a
/// bucket and keep their order, so no sequence numbers are needed. No parameter depends on the
/// distribution of delays.
#[derive(Debug)]
struct Buckets {
    base: u64,
    keys: [Vec<Key>; BITS],
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
const SORTED_BUCKET_MAX: usize = 24;

/// Maximum capacity, in keys, of an emptied bucket whose memory other buckets may reuse. A bucket
/// with a larger capacity keeps its memory.
const SPARE_CAPACITY_MAX: usize = 512;

/// Maximum number of items in the sorted list. If the list grows beyond this number, all items
/// except those with the earliest time move to buckets.
const MAX_SORTED: usize = 64;

/// Number of items up to which a queue consists of the sorted list only.
const MAX_WITHOUT_BUCKETS: usize = 24;

/// Number of items that usually fit into the cache of the processor.
const CACHED_ITEMS: usize = 1 << 16;

impl<T> TimedQueue<T> {
    pub(crate) fn new() -> Self {
        TimedQueue {
            near: VecDeque::new(),
            limit: 0,
            buckets: Buckets::new(),
            items: Vec::new(),
            free: Vec::new(),
            earliest: Vec::new(),
        }
    }

    /// Returns the time of the next item. Returns `u64::MAX` if the queue is empty.
    #[inline]
    pub(crate) fn next_time(&self) -> u64 {
        self.near.front().map_or_else(|| self.buckets.next_time(), |(time, _)| *time)
    }

    #[inline]
    pub(crate) fn push(&mut self, time: u64, item: T) {
        debug_assert!(time >= self.buckets.base, "time does not run backwards");
        if time < self.limit {
            self.insert(time, item);
        } else if self.buckets.is_empty() && self.near.len() < MAX_WITHOUT_BUCKETS {
            self.limit = time.saturating_add(1);
            self.near.push_back((time, item));
        } else {
            let place = self.store(item);
            self.buckets.push((time, place));
        }
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(u64, T)> {
        if self.near.is_empty() {
            self.refill();
        }
        self.near.pop_front()
    }

    pub(crate) fn len(&self) -> usize {
        self.near.len() + self.items.len() - self.free.len()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.near.is_empty() && self.buckets.is_empty()
    }

    /// Returns all items, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.near.iter().map(|(_, item)| item).chain(self.items.iter().flatten())
    }

    /// Returns the first item for which `is_meant` returns true, and its time. Items are examined
    /// in the order in which they would be popped.
    pub(crate) fn find_first(&self, is_meant: impl Fn(u64, &T) -> bool) -> Option<(u64, &T)> {
        // The near items are sorted. In a bucket, items of equal times are in the order of pushing,
        // and `min_by_key` returns the first of them.
        let meant = |(time, item): &(u64, &T)| is_meant(*time, item);
        let near = self.near.iter().map(|(time, item)| (*time, item)).find(meant);
        near.or_else(|| self.later().filter(meant).min_by_key(|(time, _)| *time))
    }

    /// Returns all items with their times, in the order of popping.
    pub(crate) fn in_pop_order(&self) -> Vec<(u64, &T)> {
        let near = self.near.iter().map(|(time, item)| (*time, item));
        let mut items: Vec<_> = near.chain(self.later()).collect();
        items.sort_by_key(|(time, _)| *time);
        items
    }

    /// Removes and returns the first item with the time `time` for which `is_meant` returns true.
    pub(crate) fn remove_first(&mut self, time: u64, is_meant: impl Fn(&T) -> bool) -> Option<T> {
        if let Some(index) = self.near.iter().position(|(at, item)| *at == time && is_meant(item)) {
            return self.near.remove(index).map(|(_, item)| item);
        }
        let TimedQueue { buckets, items, .. } = self;
        let place = buckets.take(&|(at, place): &Key| {
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

    /// Returns the items of the buckets. Items with equal times are in the order of pushing.
    fn later(&self) -> impl Iterator<Item = (u64, &T)> {
        let item = |(time, place): &Key| Some((*time, self.items[*place as usize].as_ref()?));
        self.buckets.keys.iter().flatten().filter_map(item)
    }

    /// Inserts an item into the sorted list, behind the items with the same time.
    fn insert(&mut self, time: u64, item: T) {
        if self.near.back().is_none_or(|(last, _)| *last <= time) {
            self.near.push_back((time, item));
        } else {
            let index = self.near.partition_point(|(other, _)| *other <= time);
            self.near.insert(index, (time, item));
        }
        if self.near.len() > MAX_SORTED {
            self.spread_sorted();
        }
    }

    /// Moves all items of the sorted list into buckets, except the items with the earliest time.
    #[cold]
    fn spread_sorted(&mut self) {
        let first = self.near[0].0;
        if self.limit == first.saturating_add(1) {
            return;
        }
        let kept = self.near.partition_point(|(time, _)| *time == first);
        self.limit = first.saturating_add(1);
        for (time, item) in self.near.split_off(kept) {
            let place = self.store(item);
            self.buckets.push((time, place));
        }
    }

    /// Moves the items with the earliest times from their bucket to the sorted list, which is
    /// empty.
    fn refill(&mut self) {
        // An emptied deque begins at the start of its memory again, so its items stay contiguous.
        self.near.clear();
        let TimedQueue { near, buckets, items, free, earliest, .. } = self;
        self.limit = buckets.take_earliest(earliest).unwrap_or(self.limit);
        if items.len() > CACHED_ITEMS {
            // These loads overlap, so the loop below does not wait for each item.
            for (_, place) in &*earliest {
                std::hint::black_box(items[*place as usize].is_some());
            }
        }
        for (time, place) in earliest.drain(..) {
            if let Some(item) = items[place as usize].take() {
                near.push_back((time, item));
                free.push(place);
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

    fn remove(&mut self, place: u32) -> Option<T> {
        self.free.push(place);
        self.items[place as usize].take()
    }
}

impl Buckets {
    const fn new() -> Self {
        Buckets {
            base: 0,
            keys: [const { Vec::new() }; BITS],
            soonest: [u64::MAX; BITS],
            spare: Vec::new(),
            filled: 0,
        }
    }

    #[inline]
    const fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// Returns the earliest time of all keys. Returns `u64::MAX` if there is no key.
    #[inline]
    const fn next_time(&self) -> u64 {
        if self.filled == 0 {
            return u64::MAX;
        }
        self.soonest[self.filled.trailing_zeros() as usize]
    }

    /// Puts a key into its bucket. The index of the bucket is the position of the highest bit in
    /// which the key's time differs from `base`. Bit 0 is the lowest bit. A time that is equal to
    /// `base` belongs to bucket 0.
    #[inline]
    fn push(&mut self, key: Key) {
        let bucket = ((key.0 ^ self.base) | 1).ilog2() as usize;
        self.filled |= 1 << bucket;
        self.soonest[bucket] = self.soonest[bucket].min(key.0);
        let keys = &mut self.keys[bucket];
        if keys.capacity() == 0
            && let Some(spare) = self.spare.pop()
        {
            *keys = spare;
        }
        keys.push(key);
    }

    /// Removes the first key for which `is_meant` returns true, and returns the place of its item.
    fn take(&mut self, is_meant: &dyn Fn(&Key) -> bool) -> Option<u32> {
        let mut buckets = self.keys.iter().enumerate();
        let (number, index) = buckets
            .find_map(|(number, bucket)| Some((number, bucket.iter().position(is_meant)?)))?;
        let bucket = &mut self.keys[number];
        let (_, place) = bucket.remove(index);
        let soonest = bucket.iter().map(|(time, _)| *time).min();
        self.soonest[number] = soonest.unwrap_or(u64::MAX);
        if bucket.is_empty() {
            self.filled &= !(1 << number);
        }
        Some(place)
    }

    /// Moves the earliest keys to `taken`, in their order. Returns a time that is after all these
    /// keys and not after any other key. Returns `None` if there is no key.
    fn take_earliest(&mut self, taken: &mut Vec<Key>) -> Option<u64> {
        if self.filled == 0 {
            return None;
        }
        let bucket = self.filled.trailing_zeros() as usize;
        self.filled &= !(1 << bucket);
        let first = std::mem::replace(&mut self.soonest[bucket], u64::MAX);
        let mut keys = std::mem::take(&mut self.keys[bucket]);
        let end = ((first >> bucket) << bucket).saturating_add(1 << bucket);
        self.base = first;
        let is_small = keys.len() <= SORTED_BUCKET_MAX;
        if is_small {
            keys.sort_by_key(|(time, _)| *time);
            taken.append(&mut keys);
        } else {
            for key in keys.drain(..) {
                match key.0 == first {
                    true => taken.push(key),
                    false => self.push(key),
                }
            }
        }
        // The memory of the emptied bucket is reused: large memory in the same bucket, small memory
        // in any bucket.
        if keys.capacity() <= SPARE_CAPACITY_MAX {
            self.spare.push(keys);
        } else {
            self.keys[bucket] = keys;
        }
        Some(if is_small { end } else { first.saturating_add(1) })
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
