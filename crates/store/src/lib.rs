//! The replicated state machine of a lock and election service: keys with revisions, leases,
//! transactions, watches, and the queues of locks.
//!
//! Begin with [`Store::apply`]. It takes the entries of a log, one after the other, and says what
//! came of each: the answer to whoever asked, what watchers are told, and whom it let in.
//! [`Store::range`] and [`Store::replay`] read; they need no entry.
//!
#![doc = include_str!("../README.md")]
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod access;
mod alarm;
mod bytes;
mod check;
mod claim;
mod command;
#[cfg(feature = "snapshot")]
mod encoded;
mod error;
mod extent;
mod history;
mod kv;
mod lease;
mod outcome;
mod prefixes;
mod queue;
mod range;
mod read;
mod size;
#[cfg(feature = "serde")]
mod snapshot;
mod span;
mod store;
mod txn;
mod watch;

pub use access::{Access, Asker, Change, ROOT, Rights, User};
pub use alarm::{Alarm, AlarmChange};
pub use bytes::Bytes;
pub use claim::{Claim, Share, claim_key, claim_of};
pub use command::{
    Command, Compare, Delete, Enqueue, Expiry, Note, Operation, Put, Relation, Target, Txn,
};
#[cfg(feature = "snapshot")]
pub use encoded::DamagedSnapshot;
pub use error::{Code, Error};
pub use history::Limits;
pub use kv::{Event, KeyValue, Kind};
pub use lease::{LONGEST_TTL, Lease, LeaseId};
pub use outcome::{Answer, Deleted, Done, LeaseChange, Outcome, Reply, Written};
pub use queue::Queue;
pub use range::{Found, Range, SortOrder, SortTarget};
pub use read::Reading;
#[cfg(feature = "serde")]
pub use snapshot::Snapshot;
pub use span::Span;
pub use store::{At, Store};
pub use watch::{Forgotten, Replay, Watch, Watchers};
