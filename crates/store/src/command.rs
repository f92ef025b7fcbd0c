//! Commands that log entries contain, and that change the store.

use alloc::vec::Vec;

use crate::access::AccessChange;
use crate::alarm::AlarmChange;
use crate::bytes::Bytes;
use crate::claim::LockMode;
use crate::lease::LeaseId;
use crate::range::Range;
use crate::span::Span;

/// A command of a log entry. Nothing else changes the store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Writes a key.
    Put(Put),
    /// Deletes all keys of a span.
    Delete(Delete),
    /// Runs a transaction.
    Txn(Txn),
    /// Discards the history before a revision.
    Compact {
        /// Oldest revision to keep.
        revision: u64,
    },
    /// Grants a lease.
    Grant {
        /// Id of the lease, chosen before the command was proposed: the store must be
        /// deterministic.
        lease: LeaseId,
        /// TTL in seconds; raised to the minimum.
        ttl: u64,
    },
    /// Ends a lease and deletes its keys, on behalf of its owner.
    Revoke {
        /// Id of the lease.
        lease: LeaseId,
    },
    /// Ends leases that have expired and deletes their keys.
    Expire {
        /// Term of the leader that detected the expiry. If the entry has another term, the command
        /// has no effect.
        term: u64,
        /// Leases that have expired.
        leases: Vec<LeaseExpiry>,
    },
    /// Records the remaining times of leases, so that a new leader does not restart them.
    Checkpoint {
        /// Term of the leader, as in [`Command::Expire`].
        term: u64,
        /// Remaining times of some leases.
        leases: Vec<LeaseCheckpoint>,
    },
    /// Adds a claim to the queue of a lock or an election, unless it is there.
    Enqueue(Enqueue),
    /// Changes users and roles.
    Access(AccessChange),
    /// Activates or clears an alarm.
    Alarm(AlarmChange),
}

/// A lease that has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LeaseExpiry {
    /// Id of the lease.
    pub lease: LeaseId,
    /// Value of [`Lease::renewal_index`](crate::Lease::renewal_index) when the expiry was detected.
    /// If it is larger when the entry is applied, the lease lives.
    pub renewal_index: u64,
}

/// Remaining time of a lease. The full TTL renews it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LeaseCheckpoint {
    /// Id of the lease.
    pub lease: LeaseId,
    /// Remaining time, in seconds.
    pub left: u64,
    /// Value of [`Lease::renewal_index`](crate::Lease::renewal_index) when the time was read. If it
    /// is larger when the entry is applied, only a full TTL is recorded.
    pub renewal_index: u64,
}

/// Writes a key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Put {
    /// Key to write.
    pub key: Bytes,
    /// New value of the key.
    pub value: Bytes,
    /// Lease to attach the key to; 0 for none.
    pub lease: LeaseId,
    /// True to return the previous key and value.
    pub prev_kv: bool,
    /// True to keep the present value.
    pub ignore_value: bool,
    /// True to keep the present lease.
    pub ignore_lease: bool,
}

/// Deletes all keys of a span.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Delete {
    /// Keys to delete.
    pub span: Span,
    /// True to return the deleted keys and values.
    pub prev_kv: bool,
}

/// A transaction: comparisons, and operations that depend on them. All changes share one revision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Txn {
    /// Comparisons, which must all hold for success.
    pub compare: Vec<Compare>,
    /// Operations if all comparisons hold.
    pub success: Vec<Operation>,
    /// Operations if a comparison fails.
    pub failure: Vec<Operation>,
}

/// An operation of a transaction. Reads see the writes before them in the transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Operation {
    /// Reads the keys of a range.
    Range(Range),
    /// Writes a key.
    Put(Put),
    /// Deletes all keys of a span.
    Delete(Delete),
    /// Runs a nested transaction. It compares with the state before the outermost transaction.
    Txn(Txn),
}

/// A comparison, which must hold for each key of a span.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Compare {
    /// Keys to compare.
    pub span: Span,
    /// Relation between the present and the given value.
    pub relation: Relation,
    /// Attribute to compare, and the given value.
    pub target: Target,
}

/// Relation between two values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Relation {
    /// The values are equal.
    #[default]
    Equal,
    /// The present value is greater.
    Greater,
    /// The present value is less.
    Less,
    /// The values are different.
    NotEqual,
}

/// Attribute of a key, and the value to compare it with. The protocol allows negative numbers. For
/// a missing key all numbers are 0, and comparisons of its value fail.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Target {
    /// Number of writes since the creation.
    Version(i64),
    /// Revision in which the key was created.
    Create(i64),
    /// Revision of the last change.
    Mod(i64),
    /// Value of the key.
    Value(Bytes),
    /// Lease of the key, as a signed number with the same bits.
    Lease(i64),
}

/// Adds a claim to the queue of a lock or an election.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Enqueue {
    /// Name of the lock or election.
    pub name: Bytes,
    /// Lease of the claim, which is renewed.
    pub lease: LeaseId,
    /// Mode of the claim.
    pub mode: LockMode,
    /// Value of the key, which observers of an election read.
    pub value: Bytes,
}

impl Txn {
    /// True if the transaction only reads, so that it needs no log entry.
    pub fn is_read_only(&self) -> bool {
        self.success.iter().chain(&self.failure).all(|operation| match operation {
            Operation::Range(_) => true,
            Operation::Put(_) | Operation::Delete(_) => false,
            Operation::Txn(txn) => txn.is_read_only(),
        })
    }
}
