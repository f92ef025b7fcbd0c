//! Reading the store, as it is or as it was.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::bytes::Bytes;
use crate::error::Error;
use crate::kv::{Event, KeyValue};
use crate::queue::Queue;
use crate::range::{Found, Range, SortOrder, SortTarget};
use crate::span::Span;
use crate::store::Store;

/// What there was when keys were read. What is answered is made of it beside the store, which
/// others may write meanwhile: it may have to be sorted, or changes be taken back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reading {
    range: Range,
    /// The revision of the store.
    now: u64,
    kvs: Vec<Arc<KeyValue>>,
    /// How many keys the span has.
    count: usize,
    /// What changed since the revision that was asked for, if it is past.
    later: Option<Vec<Event>>,
}

impl Reading {
    /// How many keys and changes have to be looked at.
    pub fn len(&self) -> usize {
        self.kvs.len() + self.later.as_ref().map_or(0, Vec::len)
    }

    /// Whether there is nothing to be looked at.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What is answered.
    pub fn found(self) -> Found {
        let Reading { range, now, kvs, count, later } = self;
        let Some(later) = later else { return range.answer(kvs, count, now) };
        let kvs = taken_back(&kvs, &later);
        let count = kvs.len();
        range.answer(kvs, count, now)
    }
}

/// Keys as they were before some changes.
fn taken_back(kvs: &[Arc<KeyValue>], changes: &[Event]) -> Vec<Arc<KeyValue>> {
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
    /// Reads keys.
    pub fn range(&self, range: &Range) -> Result<Found, Error> {
        self.reading(range).map(Reading::found)
    }

    /// Reads keys, as far as the store is needed for it: for whoever has it alone.
    pub fn reading(&self, range: &Range) -> Result<Reading, Error> {
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
    pub(crate) fn read(&self, range: &Range, own: &[Event]) -> Reading {
        let now = self.revision + u64::from(!own.is_empty());
        let span = || Store::span(&self.keys, &range.span);
        if range.revision > 0 && range.revision < now {
            let later = self.history.since(range.revision + 1).chain(own);
            let later = later.filter(|event| range.span.has(&event.kv.key)).cloned().collect();
            let (range, kvs) = (range.clone(), span().cloned().collect());
            return Reading { range, now, kvs, count: 0, later: Some(later) };
        }
        if let Some(reading) = self.read_queue(range, now) {
            return reading;
        }
        let limit = usize::try_from(range.limit).ok().filter(|limit| *limit > 0);
        let taken = match range.count_only {
            true => 0,
            false => limit
                .filter(|_| !range.looks_at_all())
                .map_or(usize::MAX, |limit| limit.saturating_add(1)),
        };
        let kvs: Vec<_> = span().take(taken).cloned().collect();
        let count = if taken == usize::MAX { kvs.len() } else { span().count() };
        Reading { range: range.clone(), now, kvs, count, later: None }
    }

    /// The oldest or the newest few of a queue: what whoever waits for a lock asks, and what would
    /// take the longer the more of them wait.
    fn read_queue(&self, range: &Range, now: u64) -> Option<Reading> {
        let Range { limit, order, max_create_revision: most, .. } = range;
        let queue = self.queue_asked_for(range)?;
        let all = queue.keys(*most).filter_map(|key| self.keys.get(key));
        let wanted = usize::try_from(*limit).unwrap_or(usize::MAX).saturating_add(1);
        let kvs = match order {
            SortOrder::None | SortOrder::Ascend => first(all, wanted),
            SortOrder::Descend => first(all.rev(), wanted),
        };
        Some(Reading { range: range.clone(), now, kvs, count: queue.len(), later: None })
    }

    /// The queue of which a range asks the oldest or the newest few.
    pub(crate) fn queue_asked_for(&self, range: &Range) -> Option<&Queue> {
        let Range { span, limit, order, target, .. } = range;
        let others = [range.min_mod_revision, range.max_mod_revision, range.min_create_revision];
        let asks = *target == SortTarget::Create && *limit > 0 && others == [0; 3];
        let asks = asks && *order != SortOrder::None;
        let name = span.key.strip_suffix(b"/").filter(|_| asks && span.is_prefix())?;
        self.queues.get(name)
    }
}

/// The first few keys, and those that were created together with the last of them: these are
/// answered in the order of their names, whichever way the others are.
fn first<'a>(all: impl Iterator<Item = &'a Arc<KeyValue>>, few: usize) -> Vec<Arc<KeyValue>> {
    let mut kvs: Vec<Arc<KeyValue>> = Vec::new();
    for kv in all {
        let last = kvs.last().filter(|_| kvs.len() >= few);
        if last.is_some_and(|last| last.create_revision != kv.create_revision) {
            break;
        }
        kvs.push(kv.clone());
    }
    kvs
}
