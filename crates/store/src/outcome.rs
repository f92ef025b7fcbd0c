//! Outcomes of commands: results, and notifications.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::claim::Claim;
use crate::error::Error;
use crate::kv::{Event, KeyValue};
use crate::lease::LeaseId;
use crate::range::RangeResult;
use crate::read::CollectedRead;

/// Outcome of a command: the result for the client that sent it, the notifications for other
/// clients, and the changes of leases.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ApplyOutcome {
    /// Revision of the store after the command. It is the same as before if `events` is empty.
    pub revision: u64,
    /// Result for the client that sent the command.
    pub result: Result<CommandResult, Error>,
    /// Events for watchers, in order. All events have the same revision.
    pub events: Vec<Event>,
    /// Claims that have acquired their locks. The caller must notify the clients that wait for
    /// these claims.
    pub granted: Vec<Claim>,
    /// Claims that have ended, because their keys were deleted or attached to another lease. Some
    /// of them held the lock, and others waited. The caller must notify the clients that waited.
    pub ended: Vec<Claim>,
    /// Changes of leases, in order. The leader needs them to count the remaining times.
    pub lease_changes: Vec<LeaseChange>,
}

/// Change of a lease. The leader counts the remaining times of leases, so it must handle each
/// change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeaseChange {
    /// The lease was granted or renewed, or its remaining time was recorded.
    Remaining {
        /// Id of the lease.
        lease: LeaseId,
        /// Remaining time, in seconds.
        seconds: u64,
    },
    /// The lease has ended, and its keys are deleted.
    Ended {
        /// Id of the lease.
        lease: LeaseId,
    },
    /// An expiry of the lease was proposed, but the lease did not end, because it was renewed or
    /// another leader has taken over.
    ExpiryRejected {
        /// Id of the lease.
        lease: LeaseId,
        /// Term of the leader that detected the expiry.
        term: u64,
        /// Value of [`ExpiredLease::renewal_index`](crate::ExpiredLease::renewal_index) in the log
        /// entry of the rejected expiry.
        renewal_index: u64,
    },
}

/// Result of a command, for the client that sent it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CommandResult {
    /// A key was written.
    Put(PutResult),
    /// Keys were deleted.
    Delete(DeleteResult),
    /// A transaction was run.
    Txn(TxnResult<CollectedRead>),
    /// The history was compacted.
    Compacted,
    /// A lease was granted.
    Granted {
        /// Id of the lease.
        lease: LeaseId,
        /// Time to live of the lease, in seconds.
        ttl: u64,
    },
    /// A lease was revoked.
    Revoked,
    /// The expiry of leases was decided.
    Expired {
        /// Number of leases that this command has ended. The other leases of the command continue
        /// or did not exist.
        ended_lease_count: u64,
    },
    /// The remaining times were recorded. The store ignored outdated times, times of another term,
    /// and times of leases that do not exist.
    Checkpointed,
    /// The claim is in its queue.
    Enqueued {
        /// The claim. If it existed before, it keeps its fencing token.
        claim: Claim,
        /// True if the claim holds the lock.
        holds_lock: bool,
    },
    /// Users, roles or the authentication were changed.
    AccessChanged,
    /// An alarm was activated or cleared, or already had the requested state.
    Alarm {
        /// True if the command has changed the state of the alarm.
        has_changed: bool,
    },
}

/// Result of a write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PutResult {
    /// Revision in which the key was written.
    pub revision: u64,
    /// State of the key before the write. `None` if the key did not exist, or if the client did not
    /// request this state.
    pub prev: Option<Arc<KeyValue>>,
}

/// Result of a deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DeleteResult {
    /// Revision of the store after the deletion. The revision stays the same if the command has
    /// changed no key.
    pub revision: u64,
    /// Number of deleted keys.
    pub count: u64,
    /// Deleted keys and values. Empty if the client did not request them.
    pub prev: Vec<Arc<KeyValue>>,
}

/// Result of a transaction. The result of each read is a [`CollectedRead`] until
/// [`TxnResult::finish`] completes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TxnResult<R = RangeResult> {
    /// Revision of the store after the transaction. For a nested transaction, this is the revision
    /// after the operations so far, including those of the outer transactions.
    pub revision: u64,
    /// True if all comparisons held.
    pub succeeded: bool,
    /// Results of the operations that were run, in order. If `succeeded` is true, these are the
    /// operations in [`Txn::success`](crate::Txn::success), otherwise those in
    /// [`Txn::failure`](crate::Txn::failure).
    pub results: Vec<TxnOperationResult<R>>,
}

/// Result of one operation of a transaction. `R` is the type of the results of reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TxnOperationResult<R = RangeResult> {
    /// Result of a read.
    Range(R),
    /// Result of a write.
    Put(PutResult),
    /// Result of a deletion.
    Delete(DeleteResult),
    /// Result of a nested transaction.
    Txn(TxnResult<R>),
}

impl TxnResult<CollectedRead> {
    /// Returns the number of keys and events that [`TxnResult::finish`] must process for all reads
    /// of the transaction.
    pub fn unprocessed_item_count(&self) -> usize {
        let work = |result: &TxnOperationResult<CollectedRead>| match result {
            TxnOperationResult::Range(read) => read.unprocessed_item_count(),
            TxnOperationResult::Txn(txn) => txn.unprocessed_item_count(),
            TxnOperationResult::Put(_) | TxnOperationResult::Delete(_) => 0,
        };
        self.results.iter().map(work).sum()
    }

    /// Completes the results of the reads. Only
    /// [`Store::collect_read_only_txn`](crate::Store::collect_read_only_txn) and
    /// [`Store::apply`](crate::Store::apply) need the store. This method does not, so the store may
    /// change in the meantime.
    pub fn finish(self) -> TxnResult {
        let finish = |result| match result {
            TxnOperationResult::Range(read) => {
                TxnOperationResult::Range(CollectedRead::finish(read))
            }
            TxnOperationResult::Put(put) => TxnOperationResult::Put(put),
            TxnOperationResult::Delete(delete) => TxnOperationResult::Delete(delete),
            TxnOperationResult::Txn(txn) => TxnOperationResult::Txn(txn.finish()),
        };
        let TxnResult { revision, succeeded, results } = self;
        TxnResult { revision, succeeded, results: results.into_iter().map(finish).collect() }
    }
}
