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
        Limits { events: 100_000, revisions: 100_000, least_ttl: 2, operations: 128 }
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
}

impl History {
    /// That of a store which begins, empty or restored, at a revision.
    pub(crate) fn from(first: u64) -> Self {
        History { events: VecDeque::new(), first }
    }

    /// The oldest revision that can be asked for.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// How many changes are kept.
    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    /// One more revision, the last of all.
    pub(crate) fn push(&mut self, revision: u64, events: &[Event], limits: &Limits) {
        self.events.extend(events.iter().cloned());
        let first = revision.saturating_sub(limits.revisions.saturating_sub(1));
        self.forget_before(first);
        while self.events.len() > limits.events.max(events.len())
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
        let kept = self.events.partition_point(|event| event.revision() < first);
        self.events.drain(..kept);
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
