//! Commands that change the store. A log entry contains one command.

use alloc::vec::Vec;

use crate::access::AccessChange;
use crate::alarm::AlarmChange;
use crate::bytes::Bytes;
use crate::claim::LockMode;
use crate::lease::LeaseId;
use crate::range::RangeRead;
use crate::span::KeySpan;

/// Command in a log entry. [`Store::apply`](crate::Store::apply) executes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Writes a key.
    Put(Put),
    /// Deletes all keys of a span.
    Delete(Delete),
    /// Runs a transaction.
    Txn(Txn),
    /// Discards the history before a revision, so that earlier revisions can no longer be read.
    Compact {
        /// Oldest revision to keep. It must be greater than the present oldest revision, and at
        /// most the current revision.
        revision: u64,
    },
    /// Grants a lease.
    Grant {
        /// Id of the lease, chosen before the command was proposed; not 0. The store cannot draw an
        /// id at random, because all members must apply the command with the same result.
        lease: LeaseId,
        /// Time to live, in seconds; at most [`MAX_TTL_SECONDS`](crate::MAX_TTL_SECONDS). If it is
        /// less than [`StoreLimits::min_ttl`](crate::StoreLimits::min_ttl), the store grants that
        /// minimum.
        ttl: u64,
    },
    /// Ends a lease at the request of a client, and deletes the keys of the lease. The client need
    /// not be the owner. For example, an operator breaks a lock by revoking its holder's lease.
    Revoke {
        /// Id of the lease.
        lease: LeaseId,
    },
    /// Ends leases that have expired and deletes their keys.
    Expire {
        /// Term of the leader that detected the expiry. If the term of the log entry differs from
        /// this term, no lease ends. The outcome then contains
        /// [`LeaseChange::ExpiryRejected`](crate::LeaseChange::ExpiryRejected) for each of the
        /// leases that exists.
        term: u64,
        /// Leases that have expired.
        leases: Vec<ExpiredLease>,
    },
    /// Records the remaining times of leases, so that a new leader continues with these times and
    /// not with the full TTLs.
    Checkpoint {
        /// Term of the leader that proposed the command. If the term of the log entry differs from
        /// this term, the command has no effect.
        term: u64,
        /// Remaining times, each with the id of its lease.
        leases: Vec<LeaseCheckpoint>,
    },
    /// Renews a lease, and adds its claim to the queue of a lock or an election. If the claim
    /// exists, it keeps its place in the queue and only its value changes.
    AcquireLock(AcquireLock),
    /// Changes users and roles.
    Access(AccessChange),
    /// Activates or clears an alarm.
    Alarm(AlarmChange),
}

/// A lease that has expired, in a [`Command::Expire`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ExpiredLease {
    /// Id of the lease.
    pub lease: LeaseId,
    /// Value of [`Lease::renewal_index`](crate::Lease::renewal_index) when the leader detected the
    /// expiry. If the lease has a larger value when the store applies the entry, the lease was
    /// renewed and does not end.
    pub renewal_index: u64,
}

/// Remaining time of a lease, as a part of [`Command::Checkpoint`]. If the remaining time is at
/// least the TTL, the checkpoint renews the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LeaseCheckpoint {
    /// Id of the lease.
    pub lease: LeaseId,
    /// Remaining time, in seconds. The store replaces a longer time than the TTL by the TTL.
    pub left: u64,
    /// Value of [`Lease::renewal_index`](crate::Lease::renewal_index) when the leader read the
    /// remaining time. If the lease has a larger value when the store applies the entry, the lease
    /// was renewed in the meantime. The store then ignores a remaining time that is less than the
    /// TTL.
    pub renewal_index: u64,
}

/// Command that writes a key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Put {
    /// Key to write.
    pub key: Bytes,
    /// New value of the key. Must be empty if `ignore_value` is true.
    pub value: Bytes,
    /// Lease to which the key is attached; 0 for none. Must be 0 if `ignore_lease` is true.
    pub lease: LeaseId,
    /// True if the result must contain the previous key and value.
    pub prev_kv: bool,
    /// True if the key keeps its current value. The key must then exist.
    pub ignore_value: bool,
    /// True if the key keeps its current lease. The key must then exist.
    pub ignore_lease: bool,
}

/// Command that deletes all keys of a span.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Delete {
    /// Keys to delete.
    pub span: KeySpan,
    /// True if the result must contain the deleted keys and values.
    pub prev_kv: bool,
}

/// A transaction. If all comparisons hold, the transaction runs the operations in `success`.
/// Otherwise, it runs the operations in `failure`. All changes of a transaction share one revision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Txn {
    /// Comparisons. If the list is empty, the operations in `success` run.
    pub compare: Vec<Compare>,
    /// Operations that run if all comparisons hold, in order.
    pub success: Vec<TxnOperation>,
    /// Operations that run if a comparison does not hold, in order.
    pub failure: Vec<TxnOperation>,
}

/// An operation in a transaction. A read without a revision also sees the writes of earlier
/// operations of the same transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum TxnOperation {
    /// Reads the keys of a range.
    Range(RangeRead),
    /// Writes a key.
    Put(Put),
    /// Deletes all keys of a span.
    Delete(Delete),
    /// Runs a nested transaction. Its comparisons use the state before the outermost transaction.
    Txn(Txn),
}

/// A comparison in a transaction. It compares an attribute of keys with a given value. The
/// comparison holds if `relation` is true for every key of the span. [`ComparedAttribute`] states
/// the result for a span without keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Compare {
    /// Keys to compare.
    pub span: KeySpan,
    /// Relation between the current value of the attribute and the given value. For example,
    /// [`CompareRelation::Greater`] requires that the current value is greater.
    pub relation: CompareRelation,
    /// Attribute of the keys to compare, and the value to compare it with.
    pub target: ComparedAttribute,
}

/// Relation between the current value of a key's attribute and a given value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum CompareRelation {
    /// The current value is equal to the given value.
    #[default]
    Equal,
    /// The current value is greater than the given value.
    Greater,
    /// The current value is less than the given value.
    Less,
    /// The current value differs from the given value.
    NotEqual,
}

/// Attribute of a key, and the value with which the attribute is compared. The value may be a
/// negative number, because the protocol allows this. If the span contains no key, the attributes
/// `Version`, `Create`, `Mod` and `Lease` are 0, and every comparison with `Value` is false.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ComparedAttribute {
    /// Number of writes of the key, as in [`KeyValue::version`](crate::KeyValue::version).
    Version(i64),
    /// Revision in which the key was created.
    Create(i64),
    /// Revision in which the key was last changed.
    Mod(i64),
    /// Value of the key.
    Value(Bytes),
    /// Lease of the key, as a signed number with the same bits.
    Lease(i64),
}

/// Command that adds a claim to the queue of a lock or an election, as in [`Command::AcquireLock`].
/// The command does not wait until the claim holds the lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AcquireLock {
    /// Name of the lock or election, with at most [`MAX_NAME_SLASHES`](crate::MAX_NAME_SLASHES)
    /// slashes.
    pub name: Bytes,
    /// Lease that the claim belongs to. The lease must exist. The command renews it.
    pub lease: LeaseId,
    /// Mode of the claim. The store replaces the mode `Slots(0)` by `Slots(1)`.
    pub mode: LockMode,
    /// Value of the claim's key. Observers of an election read this value.
    pub value: Bytes,
}

impl Txn {
    /// Returns true if both branches contain only reads, so that the transaction needs no log
    /// entry.
    pub fn is_read_only(&self) -> bool {
        self.success.iter().chain(&self.failure).all(|operation| match operation {
            TxnOperation::Range(_) => true,
            TxnOperation::Put(_) | TxnOperation::Delete(_) => false,
            TxnOperation::Txn(txn) => txn.is_read_only(),
        })
    }
}
