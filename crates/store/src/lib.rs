//! The replicated state machine of a lock and election service: keys with revisions, leases,
//! transactions, watches, and the queues of locks.
//!
//! Start with [`Store::apply`]. It applies the entries of a log in order. For each entry it returns
//! the result for the client, the events for watchers, and the claims that have acquired their
//! locks or ended. [`Store::range`] and [`Store::past_events`] read the store without a log entry.
//!
#![doc = include_str!("../README.md")]
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod access;
mod alarm;
mod bytes;
mod claim;
mod command;
#[cfg(feature = "snapshot")]
mod encoding;
mod error;
mod history;
mod kv;
mod lease;
mod outcome;
mod prefixes;
mod queue;
mod range;
mod read;
mod scan_cost;
mod size;
#[cfg(feature = "serde")]
mod snapshot;
mod span;
mod store;
mod txn;
mod validation;
mod watch;

pub use access::{AccessChange, AccessControl, Permission, Principal, ROOT_NAME, User};
pub use alarm::{Alarm, AlarmChange};
pub use bytes::Bytes;
pub use claim::{Claim, LockMode, MAX_NAME_SLASHES, claim_from_key_value, claim_key};
pub use command::{
    AcquireLock, Command, Compare, CompareRelation, ComparedAttribute, Delete, ExpiredLease,
    LeaseCheckpoint, Put, Txn, TxnOperation,
};
#[cfg(feature = "snapshot")]
pub use encoding::SnapshotDecodeError;
pub use error::{Code, Error};
pub use history::StoreLimits;
pub use kv::{Event, EventKind, KeyValue};
pub use lease::{Lease, LeaseId, MAX_TTL_SECONDS};
pub use outcome::{
    ApplyOutcome, CommandResult, DeleteResult, LeaseChange, PutResult, TxnOperationResult,
    TxnResult,
};
pub use queue::LockQueue;
pub use range::{RangeRead, RangeResult, SortOrder, SortTarget};
pub use read::CollectedRead;
#[cfg(feature = "serde")]
pub use snapshot::Snapshot;
pub use span::KeySpan;
pub use store::{LogPosition, Store};
pub use watch::{HistoryCompacted, PastEvents, WatchFilter, WatcherIndex};
