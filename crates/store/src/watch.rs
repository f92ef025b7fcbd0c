//! Watching: which changes somebody is told, and who is told of a change.

use alloc::collections::BTreeMap;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use crate::bytes::Bytes;
use crate::kv::{Event, Kind};
use crate::prefixes::prefixes;
use crate::span::Span;

/// What somebody watches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Watch {
    /// Which keys.
    pub span: Span,
    /// From which revision on; 0 for what comes next.
    pub start_revision: u64,
    /// Shows with each change what was there before.
    pub prev_kv: bool,
    /// Shows no writes.
    pub no_put: bool,
    /// Shows no deletions.
    pub no_delete: bool,
}

/// The changes that a watcher has missed, or a part of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Replay {
    /// In order, with all of a revision or nothing of it.
    pub events: Vec<Event>,
    /// From which revision on there is more; once it is later than that of the store, what comes
    /// next is all that is missing.
    pub next: u64,
}

/// The revision that a watcher asked for is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Forgotten {
    /// The oldest that is not: `compact_revision` of the answer.
    pub first: u64,
}

impl Watch {
    /// What a watcher is shown of a change, if anything.
    pub fn shows(&self, event: &Event) -> Option<Event> {
        let hidden = match event.kind {
            Kind::Put => self.no_put,
            Kind::Delete => self.no_delete,
        };
        (!hidden && self.span.has(&event.kv.key) && event.revision() >= self.start_revision)
            .then(|| Event { prev: event.prev.clone().filter(|_| self.prev_kv), ..event.clone() })
    }
}

/// Who watches which keys, so that a change finds them without asking everybody. Not part of the
/// store: each server has its own watchers.
#[derive(Clone, Debug)]
pub struct Watchers<W> {
    ones: BTreeMap<Bytes, BTreeSet<W>>,
    /// By what all keys of the span begin with.
    prefixes: BTreeMap<Bytes, BTreeSet<W>>,
    /// All other spans, which are few.
    ranges: BTreeMap<Span, BTreeSet<W>>,
}

impl<W: Ord + Clone> Default for Watchers<W> {
    fn default() -> Self {
        Watchers::new()
    }
}

impl<W: Ord + Clone> Watchers<W> {
    /// Nobody.
    pub const fn new() -> Self {
        Watchers { ones: BTreeMap::new(), prefixes: BTreeMap::new(), ranges: BTreeMap::new() }
    }

    /// Somebody watches from now on.
    pub fn insert(&mut self, span: &Span, who: W) {
        match span {
            one if one.is_one() => self.ones.entry(one.key.clone()).or_default().insert(who),
            prefix if prefix.is_prefix() => {
                self.prefixes.entry(prefix.key.clone()).or_default().insert(who)
            }
            range => self.ranges.entry(range.clone()).or_default().insert(who),
        };
    }

    /// Somebody does so no longer.
    pub fn remove(&mut self, span: &Span, who: &W) {
        fn drop_one<K: Ord, W: Ord>(map: &mut BTreeMap<K, BTreeSet<W>>, key: &K, who: &W) {
            if let Some(set) = map.get_mut(key) {
                set.remove(who);
                if set.is_empty() {
                    map.remove(key);
                }
            }
        }
        match span {
            one if one.is_one() => drop_one(&mut self.ones, &one.key, who),
            prefix if prefix.is_prefix() => drop_one(&mut self.prefixes, &prefix.key, who),
            range => drop_one(&mut self.ranges, range, who),
        }
    }

    /// Everybody who watches a key, each as often as they do.
    pub fn of<'a>(&'a self, key: &'a [u8]) -> impl Iterator<Item = &'a W> {
        let ones = self.ones.get(key);
        let prefixes = prefixes(&self.prefixes, key).map(|(_, set)| set);
        let ranges = self.ranges.iter().filter(move |(span, _)| span.has(key));
        ones.into_iter().chain(prefixes).chain(ranges.map(|(_, set)| set)).flatten()
    }

    /// Whether nobody watches anything.
    pub fn is_empty(&self) -> bool {
        self.ones.is_empty() && self.prefixes.is_empty() && self.ranges.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_finds_who_watches_its_key() {
        let spans = [
            Span::one("a/1"),
            Span::prefix("a/"),
            Span::prefix("a"),
            Span { key: "a/1".into(), end: "a/3".into() },
            Span::all(),
            Span { key: "b".into(), end: b"\0".into() },
            Span { key: "b".into(), end: "a".into() },
        ];
        let mut watchers = Watchers::new();
        (0..).zip(&spans).for_each(|(who, span)| watchers.insert(span, who));
        for key in ["a", "a/", "a/1", "a/2", "a/3", "b", "c"] {
            let expected: Vec<i32> = (0..)
                .zip(&spans)
                .filter(|(_, span)| span.has(key.as_bytes()))
                .map(|(who, _)| who)
                .collect();
            let mut found: Vec<i32> = watchers.of(key.as_bytes()).copied().collect();
            found.sort_unstable();
            assert_eq!(found, expected, "{key}");
        }
        (0..).zip(&spans).for_each(|(who, span)| watchers.remove(span, &who));
        assert!(watchers.is_empty());
    }
}
