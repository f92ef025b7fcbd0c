//! Commands that change the store. Each command is the content of a log entry.

use alloc::vec::Vec;

use crate::access::AccessChange;
use crate::alarm::AlarmChange;
use crate::bytes::Bytes;
use crate::claim::LockMode;
use crate::lease::LeaseId;
use crate::range::Range;
use crate::span::KeySpan;

/// Command in a log entry. The store changes only when a command is applied.
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
        /// Oldest revision to keep.
        revision: u64,
    },
    /// Grants a lease.
    Grant {
        /// Id of the lease, chosen before the command was proposed. The store cannot draw an id at
        /// random, because all members must apply the command with the same result.
        lease: LeaseId,
        /// Time to live, in seconds. The store replaces a lower value by the minimum TTL.
        ttl: u64,
    },
    /// Ends a lease at the request of its owner, and deletes the keys of the lease.
    Revoke {
        /// Id of the lease.
        lease: LeaseId,
    },
    /// Ends leases that have expired and deletes their keys.
    Expire {
        /// Term of the leader that detected the expiry. If the term of the log entry differs from
        /// this term, the command has no effect.
        term: u64,
        /// Leases that have expired.
        leases: Vec<LeaseExpiry>,
    },
    /// Records the remaining times of leases, so that a new leader continues with these times and
    /// not with the full TTLs.
    Checkpoint {
        /// Term of the leader that proposed the command, as in [`Command::Expire`].
        term: u64,
        /// Remaining times, each with the id of its lease.
        leases: Vec<LeaseCheckpoint>,
    },
    /// Adds a claim to the queue of a lock or an election. Does nothing if the claim exists.
    Enqueue(Enqueue),
    /// Changes users and roles.
    Access(AccessChange),
    /// Activates or clears an alarm.
    Alarm(AlarmChange),
}

/// A lease that has expired, in a [`Command::Expire`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LeaseExpiry {
    /// Id of the lease.
    pub lease: LeaseId,
    /// Value of [`Lease::renewal_index`](crate::Lease::renewal_index) when the leader detected the
    /// expiry. If the lease has a larger value when the store applies the entry, the lease was
    /// renewed and does not end.
    pub renewal_index: u64,
}

/// Remaining time of a lease, as a part of [`Command::Checkpoint`]. If the remaining time equals
/// the TTL, the checkpoint renews the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LeaseCheckpoint {
    /// Id of the lease.
    pub lease: LeaseId,
    /// Remaining time, in seconds.
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
    /// New value of the key.
    pub value: Bytes,
    /// Lease to which the key is attached; 0 for none.
    pub lease: LeaseId,
    /// True if the result must contain the previous key and value.
    pub prev_kv: bool,
    /// True if the key keeps its current value. `value` must then be empty.
    pub ignore_value: bool,
    /// True if the key keeps its current lease. `lease` must then be 0.
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
    /// Comparisons. If all of them hold, the operations in `success` run. Otherwise the operations
    /// in `failure` run.
    pub compare: Vec<Compare>,
    /// Operations that run if all comparisons hold.
    pub success: Vec<TxnOperation>,
    /// Operations that run if a comparison fails.
    pub failure: Vec<TxnOperation>,
}

/// An operation in a transaction. A read returns the results of earlier writes in the same
/// transaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum TxnOperation {
    /// Reads the keys of a range.
    Range(Range),
    /// Writes a key.
    Put(Put),
    /// Deletes all keys of a span.
    Delete(Delete),
    /// Runs a nested transaction. Its comparisons use the state before the outermost transaction.
    Txn(Txn),
}

/// A comparison in a transaction. It compares an attribute of keys with a given value. The
/// comparison holds if `relation` is true for every key of the span.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Compare {
    /// Keys to compare.
    pub span: KeySpan,
    /// Relation between the current value of the attribute and the given value. The comparison
    /// holds if the relation is true. For example, [`CompareRelation::Greater`] requires that the
    /// current value is greater.
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
    /// Number of writes since the key was created.
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

/// Command that adds a claim to the queue of a lock or an election.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Enqueue {
    /// Name of the lock or election.
    pub name: Bytes,
    /// Lease that the claim belongs to. The command renews this lease.
    pub lease: LeaseId,
    /// Mode of the claim.
    pub mode: LockMode,
    /// Value of the key of the claim. Observers of an election read it.
    pub value: Bytes,
}

impl Txn {
    /// Returns true if the transaction only reads, so that it needs no log entry.
    pub fn is_read_only(&self) -> bool {
        self.success.iter().chain(&self.failure).all(|operation| match operation {
            TxnOperation::Range(_) => true,
            TxnOperation::Put(_) | TxnOperation::Delete(_) => false,
            TxnOperation::Txn(txn) => txn.is_read_only(),
        })
    }
}
