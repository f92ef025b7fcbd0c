//! Writes and transactions: the changes that one command makes to the keys. All of them have the
//! same revision.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::claim::parse_claim_key;
use crate::command::{Compare, CompareRelation, ComparedAttribute, Delete, Put, Txn, TxnOperation};
use crate::error::Error;
use crate::kv::{Event, EventKind, KeyValue};
use crate::outcome::{
    ApplyOutcome, CommandResult, DeleteResult, LeaseChange, PutResult, TxnOperationResult,
    TxnResult,
};
use crate::queue::LockQueueUpdate;
use crate::range::RangeRead;
use crate::read::CollectedRead;
use crate::size::quota_key_size;
use crate::span::KeySpan;
use crate::store::Store;

/// Upper bound on the number of existing keys that one command adds to new queues. A key counts
/// once for each queue.
///
/// The first claim on a name adds all keys below the name to a queue. Without this bound, a
/// transaction with claims on nested names could stop all members for many seconds.
const MAX_ADOPTED_KEYS: usize = 1 << 20;

/// The changes of one command, which share the next revision of the store. Each method changes the
/// store at once. A command must therefore pass all its checks before its first change.
/// [`NextRevision::finish`] completes the revision.
#[derive(Debug)]
pub(crate) struct NextRevision<'a> {
    pub(crate) store: &'a mut Store,
    pub(crate) events: Vec<Event>,
    pub(crate) lease_changes: Vec<LeaseChange>,
    queue_changes: LockQueueUpdate,
}

impl<'a> NextRevision<'a> {
    pub(crate) fn new(store: &'a mut Store) -> Self {
        let (events, lease_changes) = (Vec::new(), Vec::new());
        NextRevision { store, events, lease_changes, queue_changes: LockQueueUpdate::default() }
    }

    /// Returns the revision of the store after the changes so far. It is the present revision as
    /// long as there is no event.
    pub(crate) fn resulting_revision(&self) -> u64 {
        self.store.revision + u64::from(!self.events.is_empty())
    }

    /// Completes the revision. Grants locks to waiting claims, adds the events to the history, and
    /// returns the outcome of the command with the result `result`. If there were no events, the
    /// revision of the store stays the same.
    pub(crate) fn finish(mut self, result: Result<CommandResult, Error>) -> ApplyOutcome {
        self.store.queues.grant_waiting(&mut self.queue_changes);
        if !self.events.is_empty() {
            self.store.revision += 1;
            let (revision, limits) = (self.store.revision, self.store.limits);
            self.store.history.push_revision(revision, &self.events, &limits);
        }
        let NextRevision { store, events, lease_changes: leases, queue_changes } = self;
        let LockQueueUpdate { granted, ended, .. } = queue_changes;
        ApplyOutcome {
            revision: store.revision,
            result,
            events,
            granted,
            ended,
            lease_changes: leases,
        }
    }

    fn record(&mut self, event: Event) {
        let Store { keys, queues, .. } = &mut *self.store;
        queues.apply_event(&event, |span| Store::keys_in_span(keys, span), &mut self.queue_changes);
        self.events.push(event);
    }

    /// Writes a key. The caller must have checked the put with [`check_lease_exists`] and
    /// [`check_kept_key_exists`].
    pub(crate) fn put(&mut self, put: &Put) -> PutResult {
        let revision = self.store.revision + 1;
        let prev = self.store.keys.get(&put.key).cloned();
        let was = prev.as_deref();
        let kept = was.filter(|_| put.ignore_value);
        let value = kept.map_or_else(|| put.value.clone(), |was| was.value.clone());
        let lease = was.filter(|_| put.ignore_lease).map_or(put.lease, |was| was.lease);
        let kv = Arc::new(KeyValue {
            // All structures share one copy of the name.
            key: was.map_or_else(|| put.key.clone(), |was| was.key.clone()),
            value,
            create_revision: was.map_or(revision, |was| was.create_revision),
            mod_revision: revision,
            version: was.map_or(0, |was| was.version) + 1,
            lease,
        });
        self.store.leases.change_lease_of_key(&kv.key, was.map_or(0, |was| was.lease), lease);
        self.store.key_bytes += quota_key_size(&kv);
        self.store.key_bytes -= was.map_or(0, quota_key_size);
        self.store.keys.insert(kv.key.clone(), kv.clone());
        self.record(Event { kind: EventKind::Put, kv, prev: prev.clone() });
        PutResult { revision: self.resulting_revision(), prev: prev.filter(|_| put.prev_kv) }
    }

    pub(crate) fn delete(&mut self, delete: &Delete) -> DeleteResult {
        let span = Store::keys_in_span(&self.store.keys, &delete.span);
        let gone: Vec<Arc<KeyValue>> = span.cloned().collect();
        gone.iter().for_each(|kv| self.delete_key(kv));
        let count = gone.len() as u64;
        let prev = if delete.prev_kv { gone } else { Vec::new() };
        DeleteResult { revision: self.resulting_revision(), count, prev }
    }

    /// Deletes a key. `previous` is the present state of the key in the store.
    pub(crate) fn delete_key(&mut self, previous: &Arc<KeyValue>) {
        let kv = Arc::new(previous.tombstone(self.store.revision + 1));
        self.store.leases.change_lease_of_key(&previous.key, previous.lease, 0);
        self.store.key_bytes -= quota_key_size(previous);
        self.store.keys.remove(&previous.key);
        self.record(Event { kind: EventKind::Delete, kv, prev: Some(previous.clone()) });
    }

    pub(crate) fn run_txn(&mut self, txn: &Txn) -> Result<TxnResult<CollectedRead>, Error> {
        let mut outcomes = Vec::new();
        evaluate_compares(self.store, txn, &mut outcomes);
        let mut names = BTreeSet::new();
        check_puts(self.store, txn, &mut outcomes.iter().copied(), &mut names)?;
        check_adopted_keys(self.store, names)?;
        check_range_revisions(self.store, txn, &mut outcomes.iter().copied())?;
        Ok(self.run(txn, &mut outcomes.into_iter()))
    }

    fn run(
        &mut self,
        txn: &Txn,
        outcomes: &mut impl Iterator<Item = bool>,
    ) -> TxnResult<CollectedRead> {
        let succeeded = outcomes.next().unwrap_or(false);
        let mut results = Vec::new();
        for operation in selected_branch(txn, succeeded) {
            results.push(match operation {
                TxnOperation::Range(range) => {
                    TxnOperationResult::Range(self.store.collect_keys(range, &self.events))
                }
                TxnOperation::Put(put) => TxnOperationResult::Put(self.put(put)),
                TxnOperation::Delete(delete) => TxnOperationResult::Delete(self.delete(delete)),
                TxnOperation::Txn(txn) => TxnOperationResult::Txn(self.run(txn, outcomes)),
            });
        }
        TxnResult { revision: self.resulting_revision(), succeeded, results }
    }
}

impl Store {
    /// Begins a read-only transaction: evaluates its comparisons, and collects the keys that it
    /// reads. Only this part needs access to the store. [`TxnResult::finish`] then completes the
    /// results of the reads.
    ///
    /// # Errors
    ///
    /// The errors of [`Txn::validate`]. [`Error::Compacted`] or [`Error::FutureRevision`] if a read
    /// of the selected branch requests a revision that the history does not contain.
    ///
    /// # Panics
    ///
    /// If the selected branch contains a write. The caller must check [`Txn::is_read_only`].
    pub fn collect_read_only_txn(&self, txn: &Txn) -> Result<TxnResult<CollectedRead>, Error> {
        txn.validate(self.limits.max_operations)?;
        let mut outcomes = Vec::new();
        evaluate_compares(self, txn, &mut outcomes);
        check_range_revisions(self, txn, &mut outcomes.iter().copied())?;
        Ok(self.run(txn, &mut outcomes.into_iter()))
    }

    fn run(
        &self,
        txn: &Txn,
        outcomes: &mut impl Iterator<Item = bool>,
    ) -> TxnResult<CollectedRead> {
        let succeeded = outcomes.next().unwrap_or(false);
        let execute = |operation: &TxnOperation| match operation {
            TxnOperation::Range(range) => TxnOperationResult::Range(self.collect_keys(range, &[])),
            TxnOperation::Txn(txn) => TxnOperationResult::Txn(self.run(txn, outcomes)),
            TxnOperation::Put(_) | TxnOperation::Delete(_) => {
                panic!("a transaction that writes needs a log entry")
            }
        };
        let results = selected_branch(txn, succeeded).iter().map(execute).collect();
        TxnResult { revision: self.revision, succeeded, results }
    }
}

/// Returns the operations that a transaction runs. `succeeded` is true if its comparisons hold.
pub(crate) fn selected_branch(txn: &Txn, succeeded: bool) -> &[TxnOperation] {
    if succeeded { &txn.success } else { &txn.failure }
}

/// Evaluates the comparisons of a transaction, and then those of the nested transactions in the
/// selected branch. All comparisons use the state before the outermost transaction. For each
/// evaluated transaction, appends a boolean to `outcomes`, which is true if all comparisons of that
/// transaction hold.
pub(crate) fn evaluate_compares(store: &Store, txn: &Txn, outcomes: &mut Vec<bool>) {
    let succeeded = txn.compare.iter().all(|compare| holds(store, compare));
    outcomes.push(succeeded);
    for operation in selected_branch(txn, succeeded) {
        if let TxnOperation::Txn(nested) = operation {
            evaluate_compares(store, nested, outcomes);
        }
    }
}

/// Checks all writes that a transaction runs. The leases of the writes must exist. If a write keeps
/// the current value or lease of its key, this key must exist. Adds the names of the queues that
/// the writes add to `new_names`.
fn check_puts<'a>(
    store: &Store,
    txn: &'a Txn,
    outcomes: &mut impl Iterator<Item = bool>,
    new_names: &mut BTreeSet<&'a [u8]>,
) -> Result<(), Error> {
    for operation in selected_branch(txn, outcomes.next().unwrap_or(false)) {
        match operation {
            TxnOperation::Put(put) => {
                check_kept_key_exists(store, put)?;
                check_lease_exists(store, put)?;
                new_names.extend(new_queue_name(store, put));
            }
            TxnOperation::Txn(txn) => check_puts(store, txn, outcomes, new_names)?,
            TxnOperation::Range(_) | TxnOperation::Delete(_) => {}
        }
    }
    Ok(())
}

/// Checks the revisions at which a transaction reads. Returns an error if one of the executed
/// operations reads a revision that was discarded or does not exist yet. `outcomes` comes from
/// [`evaluate_compares`].
pub(crate) fn check_range_revisions(
    store: &Store,
    txn: &Txn,
    outcomes: &mut impl Iterator<Item = bool>,
) -> Result<(), Error> {
    for operation in selected_branch(txn, outcomes.next().unwrap_or(false)) {
        match operation {
            TxnOperation::Range(RangeRead { revision, .. }) => {
                store.history.check_revision_readable(*revision, store.revision)?;
            }
            TxnOperation::Txn(txn) => check_range_revisions(store, txn, outcomes)?,
            TxnOperation::Put(_) | TxnOperation::Delete(_) => {}
        }
    }
    Ok(())
}

/// Checks that the lease of a put exists. A put without a lease passes.
pub(crate) fn check_lease_exists(store: &Store, put: &Put) -> Result<(), Error> {
    let has = put.lease == 0 || store.leases.exists(put.lease);
    if has { Ok(()) } else { Err(Error::LeaseNotFound) }
}

/// Checks that the key exists, if the put keeps the value or the lease of the key.
pub(crate) fn check_kept_key_exists(store: &Store, put: &Put) -> Result<(), Error> {
    let keeps = put.ignore_value || put.ignore_lease;
    let there = !keeps || store.keys.contains_key(&put.key);
    if there { Ok(()) } else { Err(Error::KeyNotFound) }
}

/// Returns the name of the queue that a write adds. `None` if the write is not the first claim on a
/// name.
pub(crate) fn new_queue_name<'a>(store: &Store, put: &'a Put) -> Option<&'a [u8]> {
    let claim = parse_claim_key(&put.key).filter(|claim| claim.lease == put.lease)?;
    store.queue(claim.name).is_none().then_some(claim.name)
}

/// Checks that the new queues with these names contain at most [`MAX_ADOPTED_KEYS`] existing keys.
pub(crate) fn check_adopted_keys<'a>(
    store: &Store,
    names: impl IntoIterator<Item = &'a [u8]>,
) -> Result<(), Error> {
    let mut left = MAX_ADOPTED_KEYS;
    for name in names {
        let span = KeySpan::prefix([name, b"/"].concat());
        let count = Store::keys_in_span(&store.keys, &span).take(left + 1).count();
        left = left.checked_sub(count).ok_or(Error::QueuesTooLong)?;
    }
    Ok(())
}

fn holds(store: &Store, Compare { span, relation, target }: &Compare) -> bool {
    let holds = |kv: &KeyValue| {
        let order = match target {
            ComparedAttribute::Version(version) => kv.version.cast_signed().cmp(version),
            ComparedAttribute::Create(revision) => kv.create_revision.cast_signed().cmp(revision),
            ComparedAttribute::Mod(revision) => kv.mod_revision.cast_signed().cmp(revision),
            ComparedAttribute::Lease(lease) => kv.lease.cast_signed().cmp(lease),
            ComparedAttribute::Value(value) => kv.value.cmp(value),
        };
        match relation {
            CompareRelation::Equal => order.is_eq(),
            CompareRelation::Greater => order.is_gt(),
            CompareRelation::Less => order.is_lt(),
            CompareRelation::NotEqual => order.is_ne(),
        }
    };
    let mut keys = Store::keys_in_span(&store.keys, span).peekable();
    match (keys.peek(), target) {
        (None, ComparedAttribute::Value(_)) => false,
        (None, _) => holds(&KeyValue::default()),
        (Some(_), _) => keys.all(|kv| holds(kv)),
    }
}
