use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Items by time; at equal times first in, first out.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    heap: BinaryHeap<Entry<T>>,
    sequence: u64,
}

#[derive(Debug)]
struct Entry<T> {
    time: u64,
    sequence: u64,
    item: T,
}

impl<T> Queue<T> {
    pub(crate) fn new() -> Self {
        Queue { heap: BinaryHeap::new(), sequence: 0 }
    }

    pub(crate) fn push(&mut self, time: u64, item: T) {
        self.sequence += 1;
        self.heap.push(Entry { time, sequence: self.sequence, item });
    }

    #[inline]
    pub(crate) fn next_time(&self) -> u64 {
        self.heap.peek().map_or(u64::MAX, |entry| entry.time)
    }

    pub(crate) fn pop(&mut self) -> Option<(u64, T)> {
        self.heap.pop().map(|entry| (entry.time, entry.item))
    }

    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.heap.iter().map(|entry| &entry.item)
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl<T> Eq for Entry<T> {}
impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.time, other.sequence).cmp(&(self.time, self.sequence))
    }
}
