//! What came of a command.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::claim::Claim;
use crate::error::Error;
use crate::kv::{Event, KeyValue};
use crate::lease::LeaseId;
use crate::range::Found;
use crate::read::Reading;

/// What came of a command: the answer to whoever asked, and what others are to be told at once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Outcome {
    /// The revision of the store from now on.
    pub revision: u64,
    /// What whoever asked is told.
    pub answer: Result<Answer, Error>,
    /// What watchers are told: all that changed, in order, of one revision.
    pub events: Vec<Event>,
    /// Claims that are inside from now on, in the order of their queues. Whoever waits for one is
    /// told so.
    pub admitted: Vec<Claim>,
    /// Claims that are over, whether they were inside or waited. Whoever still waits for one is
    /// told that its session is over.
    pub ended: Vec<Claim>,
    /// What became of leases.
    pub leases: Vec<LeaseChange>,
}

/// What became of a lease: what whoever watches its time needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeaseChange {
    /// It begins, or counts from now on as if so many seconds of it were left.
    Left {
        /// Which.
        lease: LeaseId,
        /// How many.
        seconds: u64,
    },
    /// It is over, and its keys are deleted.
    Ended {
        /// Which.
        lease: LeaseId,
    },
    /// It was to end and does not, since it was renewed, or another leads.
    Spared {
        /// Which.
        lease: LeaseId,
        /// The term of the leader that saw it run out.
        term: u64,
        /// The [`Expiry::renewed`](crate::Expiry::renewed) of the entry.
        renewed: u64,
    },
}

/// What whoever asked is told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// It was written.
    Put(Written),
    /// So many were deleted.
    Delete(Deleted),
    /// What the transaction did.
    Txn(Done<Reading>),
    /// What was before is forgotten.
    Compacted,
    /// The lease begins.
    Granted {
        /// Which.
        lease: LeaseId,
        /// How long it lasts without a renewal, in seconds.
        ttl: u64,
    },
    /// The lease is over.
    Revoked,
    /// So many of the leases that were to end are over.
    Expired {
        /// How many.
        leases: u64,
    },
    /// What is left of the leases is noted, of those that there are.
    Checkpointed,
    /// The claim is in its queue.
    Enqueued {
        /// The claim. One that was there already has the fence that it had.
        claim: Claim,
        /// Whether it is inside.
        inside: bool,
    },
    /// Users and roles are as was asked.
    Access,
    /// The alarm is as the command asks.
    Alarm {
        /// True if it was not so before.
        has_changed: bool,
    },
}

/// What a write did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Written {
    /// Its revision.
    pub revision: u64,
    /// What was there, if that was asked.
    pub prev: Option<Arc<KeyValue>>,
}

/// What a deletion did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Deleted {
    /// The revision of the store after it: a new one only if something was written so far.
    pub revision: u64,
    /// How many keys were deleted.
    pub count: u64,
    /// What was there, if that was asked.
    pub prev: Vec<Arc<KeyValue>>,
}

/// What a transaction did. What it read comes as a [`Reading`] first: [`Done::found`] makes
/// what is answered of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Done<R = Found> {
    /// The revision of the store after it.
    pub revision: u64,
    /// Whether everything that it compared held.
    pub succeeded: bool,
    /// What each of its operations did.
    pub replies: Vec<Reply<R>>,
}

/// What one operation of a transaction did.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reply<R = Found> {
    /// What was read.
    Range(R),
    /// What was written.
    Put(Written),
    /// What was deleted.
    Delete(Deleted),
    /// What another transaction did.
    Txn(Done<R>),
}

impl Done<Reading> {
    /// How many keys and changes have to be looked at.
    pub fn len(&self) -> usize {
        let len = |reply: &Reply<Reading>| match reply {
            Reply::Range(reading) => reading.len(),
            Reply::Txn(done) => done.len(),
            Reply::Put(_) | Reply::Delete(_) => 0,
        };
        self.replies.iter().map(len).sum()
    }

    /// Whether there is nothing to be looked at.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What is answered.
    pub fn found(self) -> Done {
        let found = |reply| match reply {
            Reply::Range(reading) => Reply::Range(Reading::found(reading)),
            Reply::Put(written) => Reply::Put(written),
            Reply::Delete(deleted) => Reply::Delete(deleted),
            Reply::Txn(done) => Reply::Txn(done.found()),
        };
        let Done { revision, succeeded, replies } = self;
        Done { revision, succeeded, replies: replies.into_iter().map(found).collect() }
    }
}
