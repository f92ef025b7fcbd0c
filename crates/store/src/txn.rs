//! Writing: what one command changes, all in one revision.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::command::{Compare, Delete, Operation, Put, Relation, Target, Txn};
use crate::error::Error;
use crate::kv::{Event, KeyValue, Kind};
use crate::outcome::{Deleted, Done, Reply, Written};
use crate::queue::Moves;
use crate::range::Range;
use crate::read::Reading;
use crate::size::of_key;
use crate::store::Store;

/// A revision that is being made.
#[derive(Debug)]
pub(crate) struct Revision<'a> {
    pub(crate) store: &'a mut Store,
    pub(crate) events: Vec<Event>,
    pub(crate) moves: Moves,
}

impl<'a> Revision<'a> {
    pub(crate) fn of(store: &'a mut Store) -> Self {
        Revision { store, events: Vec::new(), moves: Moves::default() }
    }

    /// The revision of the store after all so far.
    pub(crate) fn now(&self) -> u64 {
        self.store.revision + u64::from(!self.events.is_empty())
    }

    /// Ends it: what changed is a revision of the store, if anything did.
    pub(crate) fn end(mut self) -> (Vec<Event>, Moves) {
        self.store.queues.settle(&mut self.moves);
        if !self.events.is_empty() {
            self.store.revision += 1;
            let (revision, limits) = (self.store.revision, self.store.limits);
            self.store.history.push(revision, &self.events, &limits);
        }
        (self.events, self.moves)
    }

    fn note(&mut self, event: Event) {
        let Store { keys, queues, .. } = &mut *self.store;
        queues.note(&event, |span| Store::span(keys, span), &mut self.moves);
        self.events.push(event);
    }

    /// Writes a key for which nothing is amiss.
    pub(crate) fn put(&mut self, put: &Put) -> Written {
        let revision = self.store.revision + 1;
        let prev = self.store.keys.get(&put.key).cloned();
        let was = prev.as_deref();
        let kept = was.filter(|_| put.ignore_value);
        let value = kept.map_or_else(|| put.value.clone(), |was| was.value.clone());
        let lease = was.filter(|_| put.ignore_lease).map_or(put.lease, |was| was.lease);
        let kv = Arc::new(KeyValue {
            // One copy of the name serves for all that is kept of the key.
            key: was.map_or_else(|| put.key.clone(), |was| was.key.clone()),
            value,
            create_revision: was.map_or(revision, |was| was.create_revision),
            mod_revision: revision,
            version: was.map_or(0, |was| was.version) + 1,
            lease,
        });
        self.store.leases.moves(&kv.key, was.map_or(0, |was| was.lease), lease);
        self.store.key_bytes += of_key(&kv);
        self.store.key_bytes -= was.map_or(0, of_key);
        self.store.keys.insert(kv.key.clone(), kv.clone());
        self.note(Event { kind: Kind::Put, kv, prev: prev.clone() });
        Written { revision: self.now(), prev: prev.filter(|_| put.prev_kv) }
    }

    pub(crate) fn delete(&mut self, delete: &Delete) -> Deleted {
        let span = Store::span(&self.store.keys, &delete.span);
        let gone: Vec<Arc<KeyValue>> = span.cloned().collect();
        gone.iter().for_each(|kv| self.delete_one(kv));
        let count = gone.len() as u64;
        let prev = if delete.prev_kv { gone } else { Vec::new() };
        Deleted { revision: self.now(), count, prev }
    }

    /// Deletes a key that is there.
    pub(crate) fn delete_one(&mut self, was: &Arc<KeyValue>) {
        let kv = Arc::new(was.tombstone(self.store.revision + 1));
        self.store.leases.moves(&was.key, was.lease, 0);
        self.store.key_bytes -= of_key(was);
        self.store.keys.remove(&was.key);
        self.note(Event { kind: Kind::Delete, kv, prev: Some(was.clone()) });
    }

    pub(crate) fn txn(&mut self, txn: &Txn) -> Result<Done<Reading>, Error> {
        let mut way = Vec::new();
        find_way(self.store, txn, &mut way);
        check_puts(self.store, txn, &mut way.iter().copied())?;
        check_ranges(self.store, txn, &mut way.iter().copied())?;
        Ok(self.run(txn, &mut way.into_iter()))
    }

    fn run(&mut self, txn: &Txn, way: &mut impl Iterator<Item = bool>) -> Done<Reading> {
        let succeeded = way.next().unwrap_or(false);
        let mut replies = Vec::new();
        for operation in taken(txn, succeeded) {
            replies.push(match operation {
                Operation::Range(range) => Reply::Range(self.store.read(range, &self.events)),
                Operation::Put(put) => Reply::Put(self.put(put)),
                Operation::Delete(delete) => Reply::Delete(self.delete(delete)),
                Operation::Txn(txn) => Reply::Txn(self.run(txn, way)),
            });
        }
        Done { revision: self.now(), succeeded, replies }
    }
}

impl Store {
    /// Has a transaction read that only reads, as far as the store is needed for it.
    ///
    /// # Panics
    ///
    /// If it writes something.
    pub fn reading_txn(&self, txn: &Txn) -> Result<Done<Reading>, Error> {
        txn.check(self.limits.operations)?;
        let mut way = Vec::new();
        find_way(self, txn, &mut way);
        check_ranges(self, txn, &mut way.iter().copied())?;
        Ok(self.run(txn, &mut way.into_iter()))
    }

    fn run(&self, txn: &Txn, way: &mut impl Iterator<Item = bool>) -> Done<Reading> {
        let succeeded = way.next().unwrap_or(false);
        let reply = |operation: &Operation| match operation {
            Operation::Range(range) => Reply::Range(self.read(range, &[])),
            Operation::Txn(txn) => Reply::Txn(self.run(txn, way)),
            Operation::Put(_) | Operation::Delete(_) => {
                panic!("a transaction that writes goes through the log")
            }
        };
        let replies = taken(txn, succeeded).iter().map(reply).collect();
        Done { revision: self.revision, succeeded, replies }
    }
}

/// What a transaction does, by whether what it compares holds.
pub(crate) fn taken(txn: &Txn, succeeded: bool) -> &[Operation] {
    if succeeded { &txn.success } else { &txn.failure }
}

/// Whether what it compares holds, and of what it does then what is nested in it, in that order.
/// All is compared with what was there before.
pub(crate) fn find_way(store: &Store, txn: &Txn, way: &mut Vec<bool>) {
    let succeeded = txn.compare.iter().all(|compare| holds(store, compare));
    way.push(succeeded);
    for operation in taken(txn, succeeded) {
        if let Operation::Txn(nested) = operation {
            find_way(store, nested, way);
        }
    }
}

/// Whether all writes on the way have their lease, and what they keep.
fn check_puts(store: &Store, txn: &Txn, way: &mut impl Iterator<Item = bool>) -> Result<(), Error> {
    for operation in taken(txn, way.next().unwrap_or(false)) {
        match operation {
            Operation::Put(put) => {
                keeps_something(store, put)?;
                has_lease(store, put)?;
            }
            Operation::Txn(txn) => check_puts(store, txn, way)?,
            Operation::Range(_) | Operation::Delete(_) => {}
        }
    }
    Ok(())
}

/// Whether all reads on the way ask for what is known.
pub(crate) fn check_ranges(
    store: &Store,
    txn: &Txn,
    way: &mut impl Iterator<Item = bool>,
) -> Result<(), Error> {
    for operation in taken(txn, way.next().unwrap_or(false)) {
        match operation {
            Operation::Range(Range { revision, .. }) => {
                store.history.check(*revision, store.revision)?;
            }
            Operation::Txn(txn) => check_ranges(store, txn, way)?,
            Operation::Put(_) | Operation::Delete(_) => {}
        }
    }
    Ok(())
}

/// Whether the lease of a write exists, if it has one.
pub(crate) fn has_lease(store: &Store, put: &Put) -> Result<(), Error> {
    let has = put.lease == 0 || store.leases.exists(put.lease);
    if has { Ok(()) } else { Err(Error::LeaseNotFound) }
}

/// Whether what a write keeps is there, if it keeps anything.
pub(crate) fn keeps_something(store: &Store, put: &Put) -> Result<(), Error> {
    let keeps = put.ignore_value || put.ignore_lease;
    let there = !keeps || store.keys.contains_key(&put.key);
    if there { Ok(()) } else { Err(Error::KeyNotFound) }
}

fn holds(store: &Store, Compare { span, relation, target }: &Compare) -> bool {
    let holds = |kv: &KeyValue| {
        let order = match target {
            Target::Version(version) => kv.version.cast_signed().cmp(version),
            Target::Create(revision) => kv.create_revision.cast_signed().cmp(revision),
            Target::Mod(revision) => kv.mod_revision.cast_signed().cmp(revision),
            Target::Lease(lease) => kv.lease.cast_signed().cmp(lease),
            Target::Value(value) => kv.value.cmp(value),
        };
        match relation {
            Relation::Equal => order.is_eq(),
            Relation::Greater => order.is_gt(),
            Relation::Less => order.is_lt(),
            Relation::NotEqual => order.is_ne(),
        }
    };
    let mut keys = Store::span(&store.keys, span).peekable();
    match (keys.peek(), target) {
        (None, Target::Value(_)) => false,
        (None, _) => holds(&KeyValue::default()),
        (Some(_), _) => keys.all(|kv| holds(kv)),
    }
}
