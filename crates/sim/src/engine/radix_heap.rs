//! A radix heap: sorts the keys of items by time.

use std::collections::VecDeque;

/// Time of an item, and its place: its index in a list of items.
pub(crate) type Key = (u64, u32);

/// Priority queue of keys by time. Keys with equal times are popped in the order in which they were
/// pushed. The time of a pushed key must not be before the time of the last popped key.
///
/// The keys that are popped next are in a sorted list. The other keys are in the buckets of a radix
/// heap. Whenever a bucket is emptied, `base` becomes the earliest time in this bucket. For a key
/// in bucket *i*, bit *i* is the highest bit in which its time differs from `base`. So the lowest
/// bucket that is not empty holds the earliest keys. This bucket is emptied when the sorted list is
/// empty. All keys of a small bucket move to the sorted list. From a large bucket, only the keys
/// with the earliest time move to the sorted list, and the others move to lower buckets.
///
/// Each key moves only a few times, always between contiguous pieces of memory. A binary heap with
/// a million messages would miss the cache at nearly every level. Keys with equal times share a
/// bucket and keep their order, so no sequence numbers are needed. No parameter depends on the
/// distribution of delays.
#[derive(Debug)]
pub(crate) struct RadixHeap {
    /// Keys with times before `limit`, sorted by time.
    sorted: VecDeque<Key>,
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

/// Maximum number of keys in a bucket that is sorted as a whole. A larger bucket is not sorted: its
/// keys are distributed over the lower buckets.
const SORTED_BUCKET_MAX: usize = 24;

/// Maximum capacity, in keys, of an emptied bucket whose memory other buckets may reuse. A bucket
/// with a larger capacity keeps its memory.
const SPARE_CAPACITY_MAX: usize = 512;

/// Maximum number of keys in the sorted list. If the list grows beyond this number, all keys except
/// those with the earliest time move to buckets.
const MAX_SORTED: usize = 64;

/// Limit on the length of the sorted list for a pushed key whose time is not before `limit`. If the
/// list is shorter and all buckets are empty, the key joins the list. Otherwise it goes to a
/// bucket.
const MAX_WITHOUT_BUCKETS: usize = 24;

impl RadixHeap {
    pub(crate) const fn new() -> Self {
        RadixHeap {
            sorted: VecDeque::new(),
            limit: 0,
            base: 0,
            buckets: [const { Vec::new() }; BITS],
            soonest: [u64::MAX; BITS],
            spare: Vec::new(),
            filled: 0,
        }
    }

    /// Returns the earliest time of all keys. Returns `u64::MAX` if there is no key.
    #[inline]
    pub(crate) fn next_time(&self) -> u64 {
        match self.sorted.front() {
            Some((time, _)) => *time,
            None if self.filled == 0 => u64::MAX,
            None => self.soonest[self.filled.trailing_zeros() as usize],
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.sorted.is_empty() && self.filled == 0
    }

    #[inline]
    pub(crate) fn push(&mut self, key: Key) {
        debug_assert!(key.0 >= self.base, "time does not run backwards");
        if key.0 < self.limit {
            self.insert(key);
        } else if self.filled == 0 && self.sorted.len() < MAX_WITHOUT_BUCKETS {
            self.limit = key.0.saturating_add(1);
            self.sorted.push_back(key);
        } else {
            self.put_into_bucket(key);
        }
    }

    /// Removes and returns the first key, if it is in the sorted list. If the list is empty, call
    /// [`RadixHeap::refill`] first.
    #[inline]
    pub(crate) fn pop_sorted(&mut self) -> Option<Key> {
        self.sorted.pop_front()
    }

    /// Returns the keys of the sorted list.
    pub(crate) fn sorted(&self) -> impl Iterator<Item = Key> {
        self.sorted.iter().copied()
    }

    /// Returns all keys. Keys with equal times are in the order of pushing.
    pub(crate) fn keys(&self) -> impl Iterator<Item = Key> {
        self.sorted.iter().chain(self.buckets.iter().flatten()).copied()
    }

    /// Moves the keys with the earliest times from their bucket to the sorted list, which is empty.
    #[inline(never)]
    pub(crate) fn refill(&mut self) {
        if self.filled == 0 {
            return;
        }
        let bucket = self.filled.trailing_zeros() as usize;
        self.filled &= !(1 << bucket);
        let first = std::mem::replace(&mut self.soonest[bucket], u64::MAX);
        let mut keys = std::mem::take(&mut self.buckets[bucket]);
        self.base = first;
        // An emptied deque begins at the start of its memory again, so its keys stay contiguous.
        self.sorted.clear();
        if keys.len() <= SORTED_BUCKET_MAX {
            self.limit = ((first >> bucket) << bucket).saturating_add(1 << bucket);
            keys.sort_by_key(|(time, _)| *time);
            self.sorted.extend(keys.drain(..));
        } else {
            self.limit = first.saturating_add(1);
            for key in keys.drain(..) {
                match key.0 == first {
                    true => self.sorted.push_back(key),
                    false => self.put_into_bucket(key),
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

    /// Removes the first key for which `is_meant` returns true, and returns it.
    pub(crate) fn remove_first(&mut self, is_meant: impl Fn(&Key) -> bool) -> Option<Key> {
        if let Some(index) = self.sorted.iter().position(&is_meant) {
            return self.sorted.remove(index);
        }
        let mut buckets = self.buckets.iter().enumerate();
        let (number, index) = buckets
            .find_map(|(number, bucket)| Some((number, bucket.iter().position(&is_meant)?)))?;
        let bucket = &mut self.buckets[number];
        let key = bucket.remove(index);
        let soonest = bucket.iter().map(|(time, _)| *time).min();
        self.soonest[number] = soonest.unwrap_or(u64::MAX);
        if bucket.is_empty() {
            self.filled &= !(1 << number);
        }
        Some(key)
    }

    /// Inserts a key into the sorted list, behind the keys with the same time.
    fn insert(&mut self, key: Key) {
        if self.sorted.back().is_none_or(|(last, _)| *last <= key.0) {
            self.sorted.push_back(key);
        } else {
            let index = self.sorted.partition_point(|(time, _)| *time <= key.0);
            self.sorted.insert(index, key);
        }
        if self.sorted.len() > MAX_SORTED {
            self.spread_sorted();
        }
    }

    /// Moves all keys of the sorted list into buckets, except the keys with the earliest time.
    #[cold]
    fn spread_sorted(&mut self) {
        let first = self.sorted[0].0;
        if self.limit == first.saturating_add(1) {
            return;
        }
        let kept = self.sorted.partition_point(|(time, _)| *time == first);
        self.limit = first.saturating_add(1);
        for key in self.sorted.split_off(kept) {
            self.put_into_bucket(key);
        }
    }

    /// Puts a key into its bucket. The index of the bucket is the position of the highest bit in
    /// which the key's time differs from `base`. Bit 0 is the lowest bit. A time that is equal to
    /// `base` belongs to bucket 0.
    #[inline]
    fn put_into_bucket(&mut self, key: Key) {
        let bucket = ((key.0 ^ self.base) | 1).ilog2() as usize;
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
}
