//! What changed lately, for whoever watches from a revision or reads as of one.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::error::Error;
use crate::kv::Event;

/// How much is kept of what was, and what leases may be. Equal on every member, and fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Limits {
    /// At most so many changes of keys, though the last revision is kept whole.
    pub events: usize,
    /// At most changes of so many bytes, with what was there before each and what it takes to keep
    /// one, though the last revision is kept whole.
    pub bytes: usize,
    /// At most what so many revisions changed.
    pub revisions: u64,
    /// The least that a lease lasts, in seconds.
    pub least_ttl: u64,
    /// The most operations of a transaction.
    pub operations: usize,
}

/// As etcd has them by default, but for the history: etcd keeps all of it until it is told not to.
impl Default for Limits {
    fn default() -> Self {
        Limits {
            events: 100_000,
            bytes: 64 << 20,
            revisions: 100_000,
            least_ttl: 2,
            operations: 128,
        }
    }
}

/// The changes since some revision, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct History {
    events: VecDeque<Event>,
    /// The oldest revision that can be asked for: everything later is in `events`, and so is what
    /// it changed itself.
    first: u64,
    /// What they weigh.
    #[cfg_attr(feature = "serde", serde(skip))]
    bytes: usize,
}

/// What it takes to keep a change, beside the bytes of users.
const OVERHEAD: usize = 128;

/// What a change weighs. What was there before may be kept by nothing else.
fn weight(event: &Event) -> usize {
    let prev = event.prev.as_ref().map_or(0, |prev| prev.weight());
    OVERHEAD + event.kv.weight() + prev
}

impl History {
    /// That of a store which begins, empty or restored, at a revision.
    pub(crate) fn from(first: u64) -> Self {
        History { events: VecDeque::new(), first, bytes: 0 }
    }

    /// The oldest revision that can be asked for.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// How many changes are kept.
    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    /// What the changes weigh that are kept.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Weighs what was read, which does not say what it weighs.
    #[cfg(feature = "serde")]
    pub(crate) fn weighed(mut self) -> Self {
        self.bytes = self.events.iter().map(weight).sum();
        self
    }

    /// One more revision, the last of all.
    pub(crate) fn push(&mut self, revision: u64, events: &[Event], limits: &Limits) {
        self.events.extend(events.iter().cloned());
        let last: usize = events.iter().map(weight).sum();
        self.bytes += last;
        let first = revision.saturating_sub(limits.revisions.saturating_sub(1));
        self.forget_before(first);
        let (most, most_bytes) = (limits.events.max(events.len()), limits.bytes.max(last));
        while (self.events.len() > most || self.bytes > most_bytes)
            && let Some(oldest) = self.events.front().map(Event::revision)
        {
            self.forget_before(oldest + 1);
        }
    }

    /// What was before a revision is forgotten.
    pub(crate) fn forget_before(&mut self, first: u64) {
        if first <= self.first {
            return;
        }
        self.first = first;
        while let Some(oldest) = self.events.pop_front_if(|event| event.revision() < first) {
            self.bytes -= weight(&oldest);
        }
        if self.events.capacity() > 4 * self.events.len() + 64 {
            self.events.shrink_to(2 * self.events.len());
        }
    }

    /// Whether what was in a revision is known; `now` is the last one.
    pub(crate) fn check(&self, revision: u64, now: u64) -> Result<(), Error> {
        match revision {
            0 => Ok(()),
            later if later > now => Err(Error::FutureRevision),
            older if older < self.first => Err(Error::Compacted),
            _ => Ok(()),
        }
    }

    /// The changes of a revision and of all later ones, in order.
    pub(crate) fn since(&self, revision: u64) -> impl DoubleEndedIterator<Item = &Event> {
        let begin = self.events.partition_point(|event| event.revision() < revision);
        self.events.range(begin..)
    }

    /// The changes of a revision and of later ones that a watcher is shown, up to `most` and the
    /// end of a revision; and the first revision that was not looked at.
    pub(crate) fn replay(
        &self,
        from: u64,
        now: u64,
        most: usize,
        show: impl Fn(&Event) -> Option<Event>,
    ) -> (Vec<Event>, u64) {
        let mut shown: Vec<Event> = Vec::new();
        for event in self.since(from) {
            let begins = shown.last().is_none_or(|last| last.revision() < event.revision());
            if begins && shown.len() >= most.max(1) {
                return (shown, event.revision());
            }
            shown.extend(show(event));
        }
        (shown, now + 1)
    }
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;
    use alloc::vec;

    use super::*;
    use crate::kv::{KeyValue, Kind};

    fn written(revision: u64, bytes: usize) -> Event {
        let (key, value) = ("a".into(), vec![0; bytes].into());
        let kv = KeyValue { key, value, mod_revision: revision, ..KeyValue::default() };
        Event { kind: Kind::Put, kv: Arc::new(kv), prev: None }
    }

    #[test]
    fn what_is_kept_is_bounded_by_bytes_and_the_last_revision_is_whole() {
        let limits = Limits { bytes: 10_000, ..Limits::default() };
        let mut history = History::from(0);
        for revision in 2..50 {
            history.push(revision, &[written(revision, 1000)], &limits);
            assert!(history.bytes() <= 10_000, "{} bytes in revision {revision}", history.bytes());
        }
        assert_eq!((history.len(), history.first()), (8, 42));
        history.push(50, &[written(50, 9000), written(50, 9000)], &limits);
        assert_eq!((history.len(), history.first()), (2, 50));
        history.push(51, &[written(51, 1)], &limits);
        assert_eq!((history.len(), history.bytes()), (1, OVERHEAD + 2));
    }
}
