//! Recent events. They serve watches that start at a past revision, and reads of past revisions.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::error::Error;
use crate::kv::Event;

/// Limits of a store: on its history, on the TTLs of leases and on the size of transactions. The
/// history contains the events of recent revisions. The limits must be equal on all members, so
/// that all members make the same decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StoreLimits {
    /// Maximum number of events in the history. The last revision is kept even if it has more
    /// events.
    pub max_events: usize,
    /// Maximum size of the history in bytes, including previous values of keys and an overhead per
    /// event. The last revision is kept even if it is larger.
    pub max_bytes: usize,
    /// Maximum number of revisions in the history. The value 0 acts as 1.
    pub max_revisions: u64,
    /// Minimum TTL of a lease, in seconds.
    pub min_ttl: u64,
    /// Maximum number of comparisons of a transaction, and of operations in each of its branches.
    /// [`Txn::validate`](crate::Txn::validate) defines how nested transactions are counted.
    pub max_operations: usize,
}

/// The defaults are those of etcd, but with limits on the history. In etcd, the history grows until
/// it is compacted.
impl Default for StoreLimits {
    fn default() -> Self {
        StoreLimits {
            max_events: 100_000,
            max_bytes: 64 << 20,
            max_revisions: 100_000,
            min_ttl: 2,
            max_operations: 128,
        }
    }
}

/// Events of the store from the revision `first` on, in the order of their revisions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct EventHistory {
    events: VecDeque<Event>,
    /// Oldest revision that can be read or watched. `events` contains all events from this revision
    /// on.
    first: u64,
    #[cfg_attr(feature = "serde", serde(skip))]
    bytes: usize,
}

/// Number of events that [`EventHistory::past_events`] examines for each event that its caller
/// requests. It bounds a call whose filter selects few events of a long history.
const EXAMINED_PER_EVENT: usize = 16;

/// Size of an event in addition to its keys and values, in bytes.
const EVENT_OVERHEAD: usize = 128;

/// Returns the size of an event, in bytes. The size includes the previous key and value, because
/// the event may be the last owner of their memory.
fn event_size(event: &Event) -> usize {
    let prev = event.prev.as_ref().map_or(0, |prev| prev.size());
    EVENT_OVERHEAD + event.kv.size() + prev
}

impl EventHistory {
    pub(crate) fn starting_at(first: u64) -> Self {
        EventHistory { events: VecDeque::new(), first, bytes: 0 }
    }

    pub(crate) fn oldest_revision(&self) -> u64 {
        self.first
    }

    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns this history with the size of its events computed again. Snapshots do not contain
    /// the size.
    #[cfg(feature = "serde")]
    pub(crate) fn with_recomputed_size(mut self) -> Self {
        self.bytes = self.events.iter().map(event_size).sum();
        self
    }

    /// Adds the events of the next revision, and discards old events if a limit is exceeded.
    pub(crate) fn push_revision(&mut self, revision: u64, events: &[Event], limits: &StoreLimits) {
        self.events.extend(events.iter().cloned());
        let last: usize = events.iter().map(event_size).sum();
        self.bytes += last;
        let first = revision.saturating_sub(limits.max_revisions.saturating_sub(1));
        self.discard_before(first);
        let (max_events, max_bytes) =
            (limits.max_events.max(events.len()), limits.max_bytes.max(last));
        while (self.events.len() > max_events || self.bytes > max_bytes)
            && let Some(oldest) = self.events.front().map(Event::revision)
        {
            self.discard_before(oldest + 1);
        }
    }

    pub(crate) fn discard_before(&mut self, first: u64) {
        if first <= self.first {
            return;
        }
        self.first = first;
        while let Some(oldest) = self.events.pop_front_if(|event| event.revision() < first) {
            self.bytes -= event_size(&oldest);
        }
        if self.events.capacity() > 4 * self.events.len() + 64 {
            self.events.shrink_to(2 * self.events.len());
        }
    }

    /// Checks that the state of a revision can be read. `revision` 0 means the current revision,
    /// which is `current_revision`. Returns [`Error::FutureRevision`] or [`Error::Compacted`] if
    /// the state cannot be read.
    pub(crate) fn check_revision_readable(
        &self,
        revision: u64,
        current_revision: u64,
    ) -> Result<(), Error> {
        match revision {
            0 => Ok(()),
            later if later > current_revision => Err(Error::FutureRevision),
            older if older < self.first => Err(Error::Compacted),
            _ => Ok(()),
        }
    }

    pub(crate) fn events_since(&self, revision: u64) -> impl DoubleEndedIterator<Item = &Event> {
        let begin = self.events.partition_point(|event| event.revision() < revision);
        self.events.range(begin..)
    }

    /// Returns the events since the revision `from_revision` that `filter` selects, and the
    /// revision at which the next call continues. The result contains all selected events of a
    /// revision, or none of them. It ends after the first revision at which it has at least
    /// `max_events` events, and at least one event. `current_revision` is the current revision of
    /// the store.
    pub(crate) fn past_events(
        &self,
        from_revision: u64,
        current_revision: u64,
        max_events: usize,
        filter: impl Fn(&Event) -> Option<Event>,
    ) -> (Vec<Event>, u64) {
        let mut shown: Vec<Event> = Vec::new();
        let max_events = max_events.max(1);
        let max_examined = max_events.saturating_mul(EXAMINED_PER_EVENT);
        let mut last_revision = 0;
        for (examined, event) in self.events_since(from_revision).enumerate() {
            let begins = last_revision < event.revision();
            if begins && (shown.len() >= max_events || examined >= max_examined) {
                return (shown, event.revision());
            }
            last_revision = event.revision();
            shown.extend(filter(event));
        }
        (shown, current_revision + 1)
    }
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;
    use alloc::vec;
    use core::cell::Cell;

    use super::*;
    use crate::kv::{EventKind, KeyValue};

    fn written(revision: u64, bytes: usize) -> Event {
        let (key, value) = ("a".into(), vec![0; bytes].into());
        let kv = KeyValue { key, value, mod_revision: revision, ..KeyValue::default() };
        Event { kind: EventKind::Put, kv: Arc::new(kv), prev: None }
    }

    #[test]
    fn history_is_bounded_but_keeps_whole_last_revision() {
        let limits = StoreLimits { max_bytes: 10_000, ..StoreLimits::default() };
        let mut history = EventHistory::starting_at(0);
        for revision in 2..50 {
            history.push_revision(revision, &[written(revision, 1000)], &limits);
            assert!(history.bytes() <= 10_000, "{} bytes in revision {revision}", history.bytes());
        }
        assert_eq!((history.len(), history.oldest_revision()), (8, 42));
        history.push_revision(50, &[written(50, 9000), written(50, 9000)], &limits);
        assert_eq!((history.len(), history.oldest_revision()), (2, 50));
        history.push_revision(51, &[written(51, 1)], &limits);
        assert_eq!((history.len(), history.bytes()), (1, EVENT_OVERHEAD + 2));
    }

    #[test]
    fn call_examines_bounded_number_of_events() {
        let (limits, mut history) = (StoreLimits::default(), EventHistory::starting_at(0));
        for revision in 2..=101 {
            let event = written(revision, 1);
            history.push_revision(revision, &[event.clone(), event], &limits);
        }
        let examined = Cell::new(0);
        let filter = |event: &Event| {
            examined.set(examined.get() + 1);
            (event.revision() == 101).then(|| event.clone())
        };
        let (mut shown, mut next) = (Vec::new(), 2);
        while next <= 101 {
            examined.set(0);
            let (events, continued_at) = history.past_events(next, 101, 2, filter);
            assert!(examined.get() <= 2 * EXAMINED_PER_EVENT + 1, "{} events", examined.get());
            assert!(continued_at > next, "{continued_at} after {next}");
            (shown, next) = ([shown, events].concat(), continued_at);
        }
        assert_eq!((shown.len(), next), (2, 102));
        // A revision is never divided, whatever its number of events.
        let long = vec![written(102, 1); 5 * EXAMINED_PER_EVENT];
        history.push_revision(102, &long, &limits);
        let (events, next) = history.past_events(102, 102, 1, |event| Some(event.clone()));
        assert_eq!((events.len(), next), (long.len(), 103));
    }
}
