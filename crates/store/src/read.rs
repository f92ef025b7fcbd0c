//! Reading the store, as it is or as it was.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::bytes::Bytes;
use crate::error::Error;
use crate::kv::{Event, KeyValue};
use crate::range::{Found, Range, SortOrder, SortTarget};
use crate::span::Span;
use crate::store::Store;

impl Store {
    /// Reads keys.
    pub fn range(&self, range: &Range) -> Result<Found, Error> {
        range.check()?;
        self.history.check(range.revision, self.revision)?;
        Ok(self.read(range, &[]))
    }

    /// A key, if it is there.
    pub fn get(&self, key: &[u8]) -> Option<&Arc<KeyValue>> {
        self.keys.get(key)
    }

    /// The keys of a span as they are, in their order.
    pub(crate) fn span<'a>(
        keys: &'a BTreeMap<Bytes, Arc<KeyValue>>,
        span: &Span,
    ) -> impl Iterator<Item = &'a Arc<KeyValue>> + use<'a> {
        let bounds = span.bounds();
        bounds.map(|bounds| keys.range::<[u8], _>(bounds)).into_iter().flatten().map(|(_, kv)| kv)
    }

    /// Reads keys, of which these were changed by the revision that is being made.
    pub(crate) fn read(&self, range: &Range, own: &[Event]) -> Found {
        let now = self.revision + u64::from(!own.is_empty());
        if range.revision > 0 && range.revision < now {
            let kvs = self.as_of(range, own);
            let count = kvs.len();
            return range.answer(kvs, count, now);
        }
        if let Some(found) = self.read_queue(range, now) {
            return found;
        }
        let span = || Store::span(&self.keys, &range.span);
        let limit = usize::try_from(range.limit).ok().filter(|limit| *limit > 0);
        let taken = match range.count_only {
            true => 0,
            false => limit
                .filter(|_| !range.looks_at_all())
                .map_or(usize::MAX, |limit| limit.saturating_add(1)),
        };
        let kvs: Vec<_> = span().take(taken).cloned().collect();
        let count = if taken == usize::MAX { kvs.len() } else { span().count() };
        range.answer(kvs, count, now)
    }

    /// The keys of a span as they were: as they are, with all later changes taken back.
    fn as_of(&self, range: &Range, own: &[Event]) -> Vec<Arc<KeyValue>> {
        let span = Store::span(&self.keys, &range.span);
        let mut keys: BTreeMap<&Bytes, &Arc<KeyValue>> = span.map(|kv| (&kv.key, kv)).collect();
        for event in self.history.since(range.revision + 1).chain(own).rev() {
            match &event.prev {
                _ if !range.span.has(&event.kv.key) => {}
                Some(prev) => drop(keys.insert(&prev.key, prev)),
                None => drop(keys.remove(&event.kv.key)),
            }
        }
        keys.into_values().cloned().collect()
    }

    /// The oldest or the newest few of a queue: what whoever waits for a lock asks, and what would
    /// take the longer the more of them wait.
    fn read_queue(&self, range: &Range, now: u64) -> Option<Found> {
        let Range { span, limit, order, target, max_create_revision: most, .. } = range;
        let others = [range.min_mod_revision, range.max_mod_revision, range.min_create_revision];
        let asks = *target == SortTarget::Create && *limit > 0 && others == [0; 3];
        let asks = asks && *order != SortOrder::None;
        let name = span.key.strip_suffix(b"/").filter(|_| asks && span.is_prefix())?;
        let queue = self.queues.get(name)?;
        let all = queue.keys(*most);
        let wanted = usize::try_from(*limit).unwrap_or(usize::MAX).saturating_add(1);
        let keys: Vec<&Bytes> = match order {
            SortOrder::None | SortOrder::Ascend => all.take(wanted).collect(),
            SortOrder::Descend => all.rev().take(wanted).collect(),
        };
        let kvs = keys.into_iter().filter_map(|key| self.keys.get(key)).cloned().collect();
        Some(range.answer(kvs, queue.len(), now))
    }
}
