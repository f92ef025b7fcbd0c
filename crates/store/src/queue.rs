//! The queues of locks and elections: holders and waiters.
//!
//! The queue of the name `jobs` consists of all keys that begin with `jobs/`, in the order of their
//! creation. Clients of etcd treat these keys as one queue. Therefore the queue also contains keys
//! that are not claims, and claims on nested names such as `jobs/a`. If there is no claim on a
//! name, the store keeps no queue for this name. The number of slashes in a name is bounded, so the
//! number of queues that contain a key is bounded, too.
//!
//! The holders are the first entries of the queue. The first entry holds the lock. Each following
//! entry also holds the lock if it can share the lock with all entries before it. No entry
//! overtakes another. New keys come last, so an entry that holds the lock keeps it until its key is
//! deleted.

use core::ops::Bound::{Excluded, Unbounded};

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use tenure_session::{AccessMode, HolderSummary};

use crate::bytes::Bytes;
use crate::claim::{Claim, LockMode, claim_from_key_value, parse_claim_key, queue_names_of};
use crate::kv::{Event, EventKind, KeyValue};
use crate::span::KeySpan;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct LockQueues(BTreeMap<Bytes, LockQueue>);

/// Holders and waiters of one lock or election, in the order in which their keys were created.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LockQueue {
    /// Entries, ordered by the creation revisions of their keys, and then by the keys.
    entries: BTreeMap<(u64, Bytes), QueueEntry>,
    /// Number of claims on the name of this queue. Excludes keys that are not claims, and claims on
    /// nested names.
    claims: usize,
    /// Summary of the entries that hold the lock.
    holders: HolderSummary,
    /// Creation revision and key of the last entry that holds the lock. `None` if no entry holds
    /// the lock.
    last_holder: Option<(u64, Bytes)>,
}

/// Entry of a queue. The mode of the entry is part of its key, so the mode never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct QueueEntry {
    /// Lease of the claim. 0 if the key is not a claim on the name of this queue.
    lease: u64,
    mode: LockMode,
}

impl QueueEntry {
    /// Returns the access that the entry requests. Each addition, removal or admission of a holder
    /// calls this method once, so tests count the calls.
    fn access(self) -> AccessMode {
        #[cfg(test)]
        tests::ACCESS_CALLS.set(tests::ACCESS_CALLS.get() + 1);
        self.mode.into()
    }
}

/// Changes of the queues that one command has caused so far. `changed_names` contains the names of
/// the queues in which waiting claims may have to acquire their locks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LockQueueUpdate {
    pub(crate) granted: Vec<Claim>,
    pub(crate) ended: Vec<Claim>,
    changed_names: Vec<Bytes>,
}

impl LockQueues {
    pub(crate) fn get(&self, name: &[u8]) -> Option<&LockQueue> {
        self.0.get(name)
    }

    pub(crate) fn queue_count(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Bytes, &LockQueue)> {
        self.0.iter()
    }

    /// Applies an event to all queues that contain the key of the event. If the event writes a
    /// claim on a name without a queue, adds a queue that contains all keys below this name.
    /// `keys_in_span` is a function that returns the keys of a span with their values after the
    /// event. After all events of a command, the caller must call [`LockQueues::grant_waiting`].
    pub(crate) fn apply_event<'a, I: Iterator<Item = &'a Arc<KeyValue>>>(
        &mut self,
        Event { kind, kv, prev }: &Event,
        keys_in_span: impl Fn(&KeySpan) -> I,
        changes: &mut LockQueueUpdate,
    ) {
        if let (EventKind::Put, Some(claim)) = (kind, claim_from_key_value(kv))
            && !self.0.contains_key(&claim.name)
        {
            let mut queue = LockQueue::default();
            let span = KeySpan::prefix([&claim.name[..], b"/"].concat());
            keys_in_span(&span).for_each(|kv| queue.put(&claim.name, kv, changes));
            changes.changed_names.push(claim.name.clone());
            self.0.insert(claim.name, queue);
        }
        for name in queue_names_of(&kv.key) {
            let Some((name, _)) = self.0.get_key_value(name) else { continue };
            let name = name.clone();
            let Some(queue) = self.0.get_mut(&name) else { continue };
            match (kind, prev) {
                (EventKind::Put, _) => queue.put(&name, kv, changes),
                (EventKind::Delete, Some(previous)) => queue.delete(&name, previous, changes),
                (EventKind::Delete, None) => {}
            }
            changes.changed_names.push(name);
        }
    }

    /// Grants the locks of the changed queues to waiting claims, in the order of each queue.
    /// Removes the changed queues that contain no claim on their own name.
    pub(crate) fn grant_waiting(&mut self, changes: &mut LockQueueUpdate) {
        let mut changed_names = core::mem::take(&mut changes.changed_names);
        changed_names.sort_unstable();
        changed_names.dedup();
        for name in changed_names {
            let Some(queue) = self.0.get_mut(&name) else { continue };
            queue.grant_next(&name, changes);
            if queue.claims == 0 {
                self.0.remove(&name);
            }
        }
    }
}

impl LockQueue {
    /// Returns the claims on the name of this queue, in order. The boolean is true if the claim
    /// holds the lock. `name` is the name of the queue.
    pub fn claims<'a>(&'a self, name: &'a Bytes) -> impl Iterator<Item = (Claim, bool)> + 'a {
        let claims = self.entries.iter().filter(|(_, entry)| entry.lease != 0);
        claims.map(|(place, entry)| (claim(name, place, *entry), self.is_holder_at(place)))
    }

    /// Returns the number of keys in the queue, including those that are not claims.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the number of keys that hold the lock, including those that are not claims.
    pub fn holder_count(&self) -> usize {
        usize::try_from(self.holders.holder_count()).unwrap_or(usize::MAX)
    }

    /// Returns true if the queue has no entry. The store removes a queue with its last claim, so a
    /// queue of the store is never empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the keys of the queue with a creation revision up to `max_create_revision`, in the
    /// order of their creation. If `max_create_revision` is 0, returns all keys.
    pub(crate) fn keys(&self, max_create_revision: u64) -> impl DoubleEndedIterator<Item = &Bytes> {
        let end = match max_create_revision.checked_add(1).filter(|_| max_create_revision > 0) {
            Some(end) => Excluded((end, Bytes::default())),
            None => Unbounded,
        };
        self.entries.range((Unbounded, end)).map(|((_, key), _)| key)
    }

    pub(crate) fn is_holder(&self, kv: &KeyValue) -> bool {
        self.is_holder_at(&(kv.create_revision, kv.key.clone()))
    }

    fn is_holder_at(&self, place: &(u64, Bytes)) -> bool {
        self.last_holder.as_ref().is_some_and(|last| place <= last)
    }

    /// Handles a write of a key. A new key is added, and an existing one keeps its place. The write
    /// may change the lease of the key, so that the key becomes a claim or is not a claim any more.
    /// Adds a claim that ends to `changes.ended`. Adds a new claim to `changes.granted` only if its
    /// key already holds the lock.
    fn put(&mut self, name: &Bytes, kv: &KeyValue, changes: &mut LockQueueUpdate) {
        let place = (kv.create_revision, kv.key.clone());
        let parsed = parse_claim_key(&kv.key).filter(|parsed| parsed.name == &name[..]);
        let own = parsed.as_ref().filter(|parsed| parsed.lease == kv.lease);
        let mode = parsed.as_ref().map_or(LockMode::Exclusive, |parsed| parsed.mode);
        let entry = QueueEntry { lease: own.map_or(0, |own| own.lease), mode };
        let before = self.entries.insert(place.clone(), entry);
        if before == Some(entry) {
            return;
        }
        if let Some(previous) = before.filter(|before| before.lease != 0) {
            self.claims -= 1;
            changes.ended.push(claim(name, &place, previous));
        }
        if entry.lease != 0 {
            self.claims += 1;
            if self.is_holder_at(&place) {
                changes.granted.push(claim(name, &place, entry));
            }
        }
    }

    fn delete(&mut self, name: &Bytes, previous: &KeyValue, changes: &mut LockQueueUpdate) {
        let place = (previous.create_revision, previous.key.clone());
        let Some(entry) = self.entries.remove(&place) else { return };
        if self.is_holder_at(&place) {
            if self.last_holder.as_ref() == Some(&place) {
                let before = self.entries.range(..place.clone()).next_back();
                self.last_holder = before.map(|(place, _)| place.clone());
            }
            self.holders.remove_holder(entry.access());
        }
        if entry.lease != 0 {
            self.claims -= 1;
            changes.ended.push(claim(name, &place, entry));
        }
    }

    /// Grants the lock to waiting entries, in the order of the queue. Stops at the first entry that
    /// cannot share the lock with all holders.
    fn grant_next(&mut self, name: &Bytes, changes: &mut LockQueueUpdate) {
        loop {
            let after = match &self.last_holder {
                Some(last) => Excluded(last.clone()),
                None => Unbounded,
            };
            let Some((place, entry)) = self.entries.range((after, Unbounded)).next() else {
                return;
            };
            let access = entry.access();
            if !self.holders.can_admit(access) {
                return;
            }
            if entry.lease != 0 {
                changes.granted.push(claim(name, place, *entry));
            }
            self.last_holder = Some(place.clone());
            self.holders.add_holder(access);
        }
    }
}

fn claim(name: &Bytes, place: &(u64, Bytes), entry: QueueEntry) -> Claim {
    let (fence, key) = place.clone();
    Claim { name: name.clone(), key, lease: entry.lease, mode: entry.mode, fence }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::{format, thread_local};

    use super::*;
    use crate::command::{Command, Put};
    use crate::store::{LogPosition, Store};

    thread_local! {
        /// Number of calls of [`QueueEntry::access`].
        pub(super) static ACCESS_CALLS: Cell<u64> = const { Cell::new(0) };
    }

    fn apply(store: &mut Store, command: Command) {
        let position = LogPosition { index: store.applied().index + 1, term: 1 };
        let outcome = store.apply(position, command);
        assert!(outcome.result.is_ok(), "{outcome:?}");
    }

    /// One lease can have many claims on a semaphore, and all of them end in one command.
    #[test]
    fn end_of_lease_examines_each_slot_holder_once() {
        const HOLDERS: u64 = 2000;
        let mut store = Store::default();
        apply(&mut store, Command::Grant { lease: 1, ttl: 60 });
        for number in 1..=HOLDERS {
            // Each holder states another limit.
            let key = Bytes::from(format!("s/1.{number}.slots-{}", HOLDERS + number).as_bytes());
            apply(&mut store, Command::Put(Put { key, lease: 1, ..Put::default() }));
        }
        let queue = store.queue(b"s").expect("a queue");
        assert_eq!(queue.holder_count() as u64, HOLDERS);
        ACCESS_CALLS.set(0);
        apply(&mut store, Command::Revoke { lease: 1 });
        assert!(store.queue(b"s").is_none());
        assert_eq!(ACCESS_CALLS.get(), HOLDERS);
    }
}
