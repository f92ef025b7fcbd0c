//! Reads of the current state or of a past state.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::bytes::Bytes;
use crate::error::Error;
use crate::kv::{Event, KeyValue};
use crate::queue::LockQueue;
use crate::range::{RangeRead, RangeResult, SortOrder, SortTarget};
use crate::span::KeySpan;
use crate::store::Store;
use crate::validation::check_first_key_not_empty;

/// A read whose keys have been copied from the store. [`CollectedRead::finish`] computes the result
/// without the store, so the caller may release its lock on the store first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CollectedRead {
    range: RangeRead,
    revision: u64,
    kvs: Vec<Arc<KeyValue>>,
    /// Number of keys in the span of the read. 0 for a read of a past revision, because
    /// [`CollectedRead::finish`] counts these keys.
    count: usize,
    /// Events after the requested revision that concern the span of the read. The read must undo
    /// these events. `None` for a read of the current revision.
    later: Option<Vec<Event>>,
}

impl CollectedRead {
    /// Returns the number of keys and events that [`CollectedRead::finish`] must process.
    pub fn unprocessed_item_count(&self) -> usize {
        self.kvs.len() + self.later.as_ref().map_or(0, Vec::len)
    }

    /// Computes the result from the data that [`Store::collect_range`] collected. The store may
    /// have changed since then.
    pub fn finish(self) -> RangeResult {
        let CollectedRead { range, revision, kvs, count, later } = self;
        let Some(later) = later else { return range.build_result(kvs, count, revision) };
        let kvs = undo_events(&kvs, &later);
        let count = kvs.len();
        range.build_result(kvs, count, revision)
    }
}

/// Returns the keys as they were before the events in `changes`. `kvs` contains the keys after
/// these events.
fn undo_events(kvs: &[Arc<KeyValue>], changes: &[Event]) -> Vec<Arc<KeyValue>> {
    let mut keys: BTreeMap<&Bytes, &Arc<KeyValue>> = kvs.iter().map(|kv| (&kv.key, kv)).collect();
    for event in changes.iter().rev() {
        match &event.prev {
            Some(prev) => drop(keys.insert(&prev.key, prev)),
            None => drop(keys.remove(&event.kv.key)),
        }
    }
    keys.into_values().cloned().collect()
}

impl Store {
    /// Reads the keys of a range.
    ///
    /// # Errors
    ///
    /// The errors of [`Store::collect_range`].
    pub fn range(&self, range: &RangeRead) -> Result<RangeResult, Error> {
        self.collect_range(range).map(CollectedRead::finish)
    }

    /// Performs the part of a read that needs access to the store. [`CollectedRead::finish`]
    /// performs the rest.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyKey`] if the first key of the span is empty. [`Error::Compacted`] if the
    /// history does not contain the requested revision any more. [`Error::FutureRevision`] if the
    /// requested revision does not exist yet.
    pub fn collect_range(&self, range: &RangeRead) -> Result<CollectedRead, Error> {
        check_first_key_not_empty(&range.span)?;
        self.history.check_revision_readable(range.revision, self.revision)?;
        Ok(self.collect_keys(range, &[]))
    }

    /// Returns a key with its value. `None` if the key does not exist.
    pub fn get(&self, key: &[u8]) -> Option<&Arc<KeyValue>> {
        self.keys.get(key)
    }

    pub(crate) fn keys_in_span<'a>(
        keys: &'a BTreeMap<Bytes, Arc<KeyValue>>,
        span: &KeySpan,
    ) -> impl Iterator<Item = &'a Arc<KeyValue>> + use<'a> {
        let bounds = span.bounds();
        bounds.map(|bounds| keys.range::<[u8], _>(bounds)).into_iter().flatten().map(|(_, kv)| kv)
    }

    /// Collects the keys of a read. `own_events` contains the events that the running command has
    /// caused so far. It is empty if the read is not part of a command that changes the store.
    pub(crate) fn collect_keys(&self, range: &RangeRead, own_events: &[Event]) -> CollectedRead {
        let revision = self.revision + u64::from(!own_events.is_empty());
        let span = || Store::keys_in_span(&self.keys, &range.span);
        if range.revision > 0 && range.revision < revision {
            let later = self.history.events_since(range.revision + 1).chain(own_events);
            let later = later.filter(|event| range.span.contains(&event.kv.key)).cloned().collect();
            let (range, kvs) = (range.clone(), span().cloned().collect());
            return CollectedRead { range, revision, kvs, count: 0, later: Some(later) };
        }
        if let Some(reading) = self.read_queue(range, revision) {
            return reading;
        }
        let limit = usize::try_from(range.limit).ok().filter(|limit| *limit > 0);
        let max_keys = match range.count_only {
            true => 0,
            false => limit
                .filter(|_| !range.needs_full_scan())
                .map_or(usize::MAX, |limit| limit.saturating_add(1)),
        };
        let kvs: Vec<_> = span().take(max_keys).cloned().collect();
        let count = if max_keys == usize::MAX { kvs.len() } else { span().count() };
        CollectedRead { range: range.clone(), revision, kvs, count, later: None }
    }

    /// Serves a read of the oldest or newest keys of a queue from its [`LockQueue`], without a scan
    /// of all its keys. Such reads are frequent, because each waiting client sends one. Returns
    /// `None` if the read is of another kind or the queue does not exist.
    fn read_queue(&self, range: &RangeRead, revision: u64) -> Option<CollectedRead> {
        let RangeRead { limit, order, max_create_revision, .. } = range;
        let queue = self.queue_for_range(range)?;
        let all = queue.keys(*max_create_revision).filter_map(|key| self.keys.get(key));
        let max_keys = usize::try_from(*limit).unwrap_or(usize::MAX).saturating_add(1);
        let kvs = match order {
            SortOrder::None | SortOrder::Ascend => first_with_ties(all, max_keys),
            SortOrder::Descend => first_with_ties(all.rev(), max_keys),
        };
        Some(CollectedRead { range: range.clone(), revision, kvs, count: queue.len(), later: None })
    }

    /// Returns the queue of a lock or election, if `range` reads the oldest or newest keys of this
    /// queue. Returns `None` for any other read, or if the queue does not exist. The caller must
    /// check that the read concerns the current revision.
    pub(crate) fn queue_for_range(&self, range: &RangeRead) -> Option<&LockQueue> {
        let RangeRead { span, limit, order, target, .. } = range;
        let others = [range.min_mod_revision, range.max_mod_revision, range.min_create_revision];
        let is_queue_read = *target == SortTarget::Create && *limit > 0 && others == [0; 3];
        let is_queue_read = is_queue_read && *order != SortOrder::None;
        let name = span.key.strip_suffix(b"/").filter(|_| is_queue_read && span.is_prefix())?;
        self.queues.get(name)
    }
}

/// Returns the first `limit` keys of `all`, and any further keys with the same creation revision as
/// the last of these keys. The caller then orders the keys with equal creation revisions by name.
fn first_with_ties<'a>(
    all: impl Iterator<Item = &'a Arc<KeyValue>>,
    limit: usize,
) -> Vec<Arc<KeyValue>> {
    let mut kvs: Vec<Arc<KeyValue>> = Vec::new();
    for kv in all {
        let last = kvs.last().filter(|_| kvs.len() >= limit);
        if last.is_some_and(|last| last.create_revision != kv.create_revision) {
            break;
        }
        kvs.push(kv.clone());
    }
    kvs
}
