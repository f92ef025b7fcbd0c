//! What is asked of the store.

use alloc::vec::Vec;

use crate::access::Change;
use crate::alarm::AlarmChange;
use crate::bytes::Bytes;
use crate::claim::Share;
use crate::lease::LeaseId;
use crate::range::Range;
use crate::span::Span;

/// What an entry of the log says: all by which the store changes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Writes one key.
    Put(Put),
    /// Deletes keys.
    Delete(Delete),
    /// Looks and, by what it sees, does one thing or another, all at once.
    Txn(Txn),
    /// Forgets what was before a revision.
    Compact {
        /// The oldest revision that can be asked for from now on.
        revision: u64,
    },
    /// Begins a lease.
    Grant {
        /// Its name, which whoever proposes this has chosen, as the store draws no numbers.
        lease: LeaseId,
        /// How long it lasts without a renewal, in seconds; raised to the least there is.
        ttl: u64,
    },
    /// Ends a lease and deletes its keys, because its owner says so.
    Revoke {
        /// Which.
        lease: LeaseId,
    },
    /// Ends leases that were not renewed, and deletes their keys.
    Expire {
        /// The term of the leader that saw them run out. Proposed by one leader and taken in the
        /// term of another, it does nothing.
        term: u64,
        /// Which.
        leases: Vec<Expiry>,
    },
    /// Notes how much is left of leases, so that a change of leader does not fill them again.
    Checkpoint {
        /// The term of the leader that says so; as for [`Command::Expire`].
        term: u64,
        /// Which.
        leases: Vec<Note>,
    },
    /// Queues for a lock or an election, unless the same claim is there.
    Enqueue(Enqueue),
    /// Changes users and roles.
    Access(Change),
    /// Activates or clears an alarm.
    Alarm(AlarmChange),
}

/// A lease that ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Expiry {
    /// Which.
    pub lease: LeaseId,
    /// What [`Lease::renewed`](crate::Lease::renewed) was when it was seen to run out: if it is
    /// more by now, the lease lives.
    pub renewed: u64,
}

/// What is left of a lease: less than all, as somebody saw it; or all, and that renews it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Note {
    /// Of which.
    pub lease: LeaseId,
    /// How many seconds.
    pub left: u64,
    /// What [`Lease::renewed`](crate::Lease::renewed) was when that was seen: if it is more by now,
    /// less than all is not noted.
    pub renewed: u64,
}

/// Writes one key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Put {
    /// Which.
    pub key: Bytes,
    /// What it is to be.
    pub value: Bytes,
    /// With which the key ends; 0 for none.
    pub lease: LeaseId,
    /// Whether to answer with what was there.
    pub prev_kv: bool,
    /// Keeps the value that is there.
    pub ignore_value: bool,
    /// Keeps the lease that is there.
    pub ignore_lease: bool,
}

/// Deletes keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Delete {
    /// Which.
    pub span: Span,
    /// Whether to answer with what was there.
    pub prev_kv: bool,
}

/// Looks and, by what it sees, does one thing or another, all at once and in one revision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Txn {
    /// What has to hold, all of it.
    pub compare: Vec<Compare>,
    /// What is done if it does.
    pub success: Vec<Operation>,
    /// What is done if it does not.
    pub failure: Vec<Operation>,
}

/// One thing that a transaction does. Reads see what was written before them in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Operation {
    /// Reads.
    Range(Range),
    /// Writes.
    Put(Put),
    /// Deletes.
    Delete(Delete),
    /// Another transaction. What it compares is what was there before the outermost one.
    Txn(Txn),
}

/// What has to hold of a key, or of each of several.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Compare {
    /// Of which.
    pub span: Span,
    /// How what is there stands to what is given.
    pub relation: Relation,
    /// What is compared, and with what.
    pub target: Target,
}

/// How two things stand to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Relation {
    /// They are equal.
    #[default]
    Equal,
    /// What is there is greater.
    Greater,
    /// What is there is less.
    Less,
    /// They differ.
    NotEqual,
}

/// What of a key is compared, and with what: as clients say numbers, which may be below 0. Of a key
/// that is not there all numbers are 0, and its value is like no other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Target {
    /// How often it was written.
    Version(i64),
    /// The revision of its creation.
    Create(i64),
    /// The revision of its last change.
    Mod(i64),
    /// What it is.
    Value(Bytes),
    /// The lease with which it ends, whose bits are those of this number.
    Lease(i64),
}

/// Queues for a lock or an election.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Enqueue {
    /// Of which.
    pub name: Bytes,
    /// With which the claim ends; it counts as renewed.
    pub lease: LeaseId,
    /// With whom it may be inside.
    pub share: Share,
    /// What the key is to be, which observers of an election read.
    pub value: Bytes,
}

impl Txn {
    /// Whether it only reads, so that it need not go through the log.
    pub fn is_read_only(&self) -> bool {
        self.success.iter().chain(&self.failure).all(|operation| match operation {
            Operation::Range(_) => true,
            Operation::Put(_) | Operation::Delete(_) => false,
            Operation::Txn(txn) => txn.is_read_only(),
        })
    }
}
