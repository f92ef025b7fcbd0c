//! Outcomes of commands.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::claim::Claim;
use crate::error::Error;
use crate::kv::{Event, KeyValue};
use crate::lease::LeaseId;
use crate::range::RangeResult;
use crate::read::PendingRead;

/// Outcome of a command: the result for its client, and the notifications for others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Outcome {
    /// Revision of the store after the command.
    pub revision: u64,
    /// Result for the client that sent the command.
    pub result: Result<CommandResult, Error>,
    /// Events for watchers, in order, all of one revision.
    pub events: Vec<Event>,
    /// Claims that acquired their locks, in the order of their queues. Their waiters are to be
    /// notified.
    pub granted: Vec<Claim>,
    /// Claims that ended, held or waiting. Clients that still wait are to be notified that the
    /// session has ended.
    pub ended: Vec<Claim>,
    /// Changes of leases.
    pub leases: Vec<LeaseChange>,
}

/// Change of a lease, for the leader that counts its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeaseChange {
    /// The lease starts, or its remaining time was recorded.
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
    /// The lease did not end, because it was renewed or another leader took over.
    ExpiryRejected {
        /// Id of the lease.
        lease: LeaseId,
        /// Term of the leader that detected the expiry.
        term: u64,
        /// The [`LeaseExpiry::renewal_index`](crate::LeaseExpiry::renewal_index) of the entry.
        renewal_index: u64,
    },
}

/// Result of a command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CommandResult {
    /// A key was written.
    Put(PutResult),
    /// Keys were deleted.
    Delete(DeleteResult),
    /// A transaction was run.
    Txn(TxnResult<PendingRead>),
    /// The history was compacted.
    Compacted,
    /// A lease was granted.
    Granted {
        /// Id of the lease.
        lease: LeaseId,
        /// TTL, in seconds.
        ttl: u64,
    },
    /// A lease was revoked.
    Revoked,
    /// Leases have expired.
    Expired {
        /// Number of leases that have ended.
        leases: u64,
    },
    /// Remaining times were recorded, for the leases that exist.
    Checkpointed,
    /// The claim is in its queue.
    Enqueued {
        /// The claim. If it existed before, it keeps its fencing token.
        claim: Claim,
        /// True if the claim holds the lock.
        is_held: bool,
    },
    /// Users or roles were changed.
    AccessChanged,
    /// An alarm was activated or cleared, or was in the requested state already.
    Alarm {
        /// True if the alarm was in another state before.
        has_changed: bool,
    },
}

/// Result of a write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PutResult {
    /// Revision of the write.
    pub revision: u64,
    /// Previous key and value, if requested.
    pub prev: Option<Arc<KeyValue>>,
}

/// Number of keys that a deletion removed, and the revision after it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DeleteResult {
    /// Revision of the store after the deletion, which is a new one only if the command has changed
    /// something.
    pub revision: u64,
    /// Number of deleted keys.
    pub count: u64,
    /// Deleted keys and values, if requested.
    pub prev: Vec<Arc<KeyValue>>,
}

/// Result of a transaction. Its reads are [`PendingRead`]s until [`TxnResult::finish`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TxnResult<R = RangeResult> {
    /// Revision of the store after the transaction.
    pub revision: u64,
    /// True if all comparisons held.
    pub succeeded: bool,
    /// Results of the operations.
    pub results: Vec<OperationResult<R>>,
}

/// Result of an operation of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OperationResult<R = RangeResult> {
    /// Result of a read.
    Range(R),
    /// Result of a write.
    Put(PutResult),
    /// Result of a deletion.
    Delete(DeleteResult),
    /// Result of a nested transaction.
    Txn(TxnResult<R>),
}

impl TxnResult<PendingRead> {
    /// Returns the number of keys and events that [`TxnResult::finish`] has to process.
    pub fn len(&self) -> usize {
        let len = |result: &OperationResult<PendingRead>| match result {
            OperationResult::Range(read) => read.len(),
            OperationResult::Txn(txn) => txn.len(),
            OperationResult::Put(_) | OperationResult::Delete(_) => 0,
        };
        self.results.iter().map(len).sum()
    }

    /// True if there is nothing to process.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Finishes the reads.
    pub fn finish(self) -> TxnResult {
        let finish = |result| match result {
            OperationResult::Range(read) => OperationResult::Range(PendingRead::finish(read)),
            OperationResult::Put(put) => OperationResult::Put(put),
            OperationResult::Delete(delete) => OperationResult::Delete(delete),
            OperationResult::Txn(txn) => OperationResult::Txn(txn.finish()),
        };
        let TxnResult { revision, succeeded, results } = self;
        TxnResult { revision, succeeded, results: results.into_iter().map(finish).collect() }
    }
}
