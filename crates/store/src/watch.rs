//! Watches: filters of events, and an index of the watchers of each key.

use alloc::collections::BTreeMap;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use crate::bytes::Bytes;
use crate::kv::{Event, EventKind};
use crate::prefixes::prefix_entries;
use crate::span::KeySpan;

/// Filter of a watcher. It selects the keys and the kinds of events that the watcher receives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct WatchFilter {
    /// Keys to watch.
    pub span: KeySpan,
    /// First revision whose events the watcher receives. 0 means that the watch begins at the next
    /// revision, which the server determines. [`WatchFilter::filter_event`] then excludes no
    /// revision.
    pub start_revision: u64,
    /// True if events must contain the state of the key before the change.
    pub prev_kv: bool,
    /// True if the watcher does not receive writes.
    pub no_put: bool,
    /// True if the watcher does not receive deletions.
    pub no_delete: bool,
}

/// Past events for a watcher, possibly only the first part of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PastEvents {
    /// Events in order. All events of a revision are included, or none.
    pub events: Vec<Event>,
    /// Revision at which the next call of [`Store::past_events`](crate::Store::past_events)
    /// continues. If this revision is larger than the revision of the store, the watcher has
    /// received all past events.
    pub next_revision: u64,
}

/// Error: a watch begins at a revision that the history does not contain any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HistoryCompacted {
    /// Oldest revision that can be watched: the `compact_revision` of the response.
    pub oldest_revision: u64,
}

impl WatchFilter {
    /// Returns the event as the watcher receives it. Without [`WatchFilter::prev_kv`], the returned
    /// event does not contain the state before the change. Returns `None` if the filter excludes
    /// the event.
    pub fn filter_event(&self, event: &Event) -> Option<Event> {
        let hidden = match event.kind {
            EventKind::Put => self.no_put,
            EventKind::Delete => self.no_delete,
        };
        (!hidden && self.span.contains(&event.kv.key) && event.revision() >= self.start_revision)
            .then(|| Event { prev: event.prev.clone().filter(|_| self.prev_kv), ..event.clone() })
    }
}

/// Index of watchers by the keys that they watch. `W` identifies a watcher. The index is not part
/// of the store, because each server has its own watchers.
#[derive(Clone, Debug)]
pub struct WatcherIndex<W> {
    single_keys: BTreeMap<Bytes, BTreeSet<W>>,
    /// Watchers of all keys with a prefix, by the prefix.
    prefixes: BTreeMap<Bytes, BTreeSet<W>>,
    /// Watchers of spans that are neither a single key nor a prefix. A search for the watchers of
    /// a key visits each of these spans, so there must be few of them.
    ranges: BTreeMap<KeySpan, BTreeSet<W>>,
}

impl<W: Ord + Clone> Default for WatcherIndex<W> {
    fn default() -> Self {
        WatcherIndex::new()
    }
}

impl<W: Ord + Clone> WatcherIndex<W> {
    /// Creates an empty index.
    pub const fn new() -> Self {
        WatcherIndex {
            single_keys: BTreeMap::new(),
            prefixes: BTreeMap::new(),
            ranges: BTreeMap::new(),
        }
    }

    /// Adds a watcher of a span. A watcher may watch several spans.
    pub fn insert(&mut self, span: &KeySpan, watcher: W) {
        match span {
            one if one.is_single() => {
                self.single_keys.entry(one.key.clone()).or_default().insert(watcher)
            }
            prefix if prefix.is_prefix() => {
                self.prefixes.entry(prefix.key.clone()).or_default().insert(watcher)
            }
            range => self.ranges.entry(range.clone()).or_default().insert(watcher),
        };
    }

    /// Removes a watcher of a span. Does nothing if the index does not contain the watcher with
    /// this span.
    pub fn remove(&mut self, span: &KeySpan, watcher: &W) {
        fn drop_one<K: Ord, W: Ord>(map: &mut BTreeMap<K, BTreeSet<W>>, key: &K, watcher: &W) {
            if let Some(set) = map.get_mut(key) {
                set.remove(watcher);
                if set.is_empty() {
                    map.remove(key);
                }
            }
        }
        match span {
            one if one.is_single() => drop_one(&mut self.single_keys, &one.key, watcher),
            prefix if prefix.is_prefix() => drop_one(&mut self.prefixes, &prefix.key, watcher),
            range => drop_one(&mut self.ranges, range, watcher),
        }
    }

    /// Returns the watchers of a key. If a watcher was added with several spans that contain the
    /// key, the result contains the watcher once for each of these spans.
    pub fn watchers_of<'a>(&'a self, key: &'a [u8]) -> impl Iterator<Item = &'a W> {
        let single_keys = self.single_keys.get(key);
        let prefixes = prefix_entries(&self.prefixes, key).map(|(_, set)| set);
        let ranges = self.ranges.iter().filter(move |(span, _)| span.contains(key));
        single_keys.into_iter().chain(prefixes).chain(ranges.map(|(_, set)| set)).flatten()
    }

    /// Returns the number of different ranges that the index would contain after the insertion of a
    /// watcher of `span`. A range is a span that is neither a single key nor a prefix. Each range
    /// adds to the cost of [`WatcherIndex::watchers_of`].
    pub fn range_count_after_insert(&self, span: &KeySpan) -> usize {
        let is_new = !span.is_single() && !span.is_prefix() && !self.ranges.contains_key(span);
        self.ranges.len() + usize::from(is_new)
    }

    /// Returns true if the index contains no watchers.
    pub fn is_empty(&self) -> bool {
        self.single_keys.is_empty() && self.prefixes.is_empty() && self.ranges.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_finds_watchers_of_its_key() {
        let spans = [
            KeySpan::single("a/1"),
            KeySpan::prefix("a/"),
            KeySpan::prefix("a"),
            KeySpan { key: "a/1".into(), end: "a/3".into() },
            KeySpan::all(),
            KeySpan { key: "b".into(), end: b"\0".into() },
            KeySpan { key: "b".into(), end: "a".into() },
        ];
        let mut watchers = WatcherIndex::new();
        (0..).zip(&spans).for_each(|(watcher, span)| watchers.insert(span, watcher));
        for key in ["a", "a/", "a/1", "a/2", "a/3", "b", "c"] {
            let expected: Vec<i32> = (0..)
                .zip(&spans)
                .filter(|(_, span)| span.contains(key.as_bytes()))
                .map(|(watcher, _)| watcher)
                .collect();
            let mut found: Vec<i32> = watchers.watchers_of(key.as_bytes()).copied().collect();
            found.sort_unstable();
            assert_eq!(found, expected, "{key}");
        }
        (0..).zip(&spans).for_each(|(watcher, span)| watchers.remove(span, &watcher));
        assert!(watchers.is_empty());
    }

    #[test]
    fn ranges_count_once_and_keys_and_prefixes_do_not() {
        let [range, other] = ["c", "d"].map(|end| KeySpan { key: "a".into(), end: end.into() });
        let (single, prefix) = (KeySpan::single("a"), KeySpan::prefix("a"));
        let mut watchers = WatcherIndex::new();
        for (span, count) in [(&single, 0), (&prefix, 0), (&range, 1)] {
            assert_eq!(watchers.range_count_after_insert(span), count, "{span:?}");
        }
        (0..).zip([&single, &prefix, &range, &range]).for_each(|(watcher, span)| {
            watchers.insert(span, watcher);
        });
        for (span, count) in [(&single, 1), (&prefix, 1), (&range, 1), (&other, 2)] {
            assert_eq!(watchers.range_count_after_insert(span), count, "{span:?}");
        }
        watchers.remove(&range, &2);
        assert_eq!(watchers.range_count_after_insert(&single), 1, "another watcher has this span");
        watchers.remove(&range, &3);
        assert_eq!(watchers.range_count_after_insert(&single), 0);
    }
}
