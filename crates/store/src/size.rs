//! Size of a store as its quota counts it: an estimate of the memory of its keys, leases and
//! queues.
//!
//! The size does not include the history, because [`StoreLimits`](crate::StoreLimits) bound the
//! history separately. A deletion of keys reduces the size immediately.
//!
//! Each constant is an upper bound on the memory that `examples/footprint.rs` measures, plus the
//! overhead of an allocator. For example, the resident memory of a member grew by 349 bytes for a
//! key of 13 bytes with a value of 24 bytes. The constants count 357 bytes for this key.

use crate::claim::{claim_key, parse_claim_key, queue_names_of};
use crate::command::{AcquireLock, Command, Put, Txn, TxnOperation};
use crate::kv::KeyValue;
use crate::lease::LeaseId;
use crate::store::Store;

/// Number of bytes that the quota counts for a key, in addition to its name and its value. Includes
/// the entry of the key in one queue.
const KEY_BYTES: usize = 320;

/// Number of bytes that the quota counts for a key for each queue that may contain it, except the
/// first. A key may be in one queue for each of its slashes, but in at most
/// [`MAX_NAME_SLASHES`](crate::MAX_NAME_SLASHES) queues in addition to the first.
///
/// The quota counts these bytes when the key is put, even if the queues do not exist yet. If it
/// counted them later, one command could create a queue that contains many existing keys, and the
/// store would exceed the quota by far.
const QUEUE_ENTRY_BYTES: usize = 80;

/// Number of bytes that the quota counts for the attachment of a key to a lease.
const ATTACHMENT_BYTES: usize = 256;

/// Number of bytes that the quota counts for a lease, in addition to its keys.
const LEASE_BYTES: usize = 192;

/// Number of bytes that the quota counts for the queue of a lock or an election, in addition to its
/// claims.
const QUEUE_BYTES: usize = 640;

/// Returns the number of bytes that the quota counts for a key, with its name, its value, its
/// attachment to a lease and its entries in queues.
pub(crate) fn quota_key_size(kv: &KeyValue) -> usize {
    key_size(&kv.key, &kv.value, kv.lease)
}

fn key_size(key: &[u8], value: &[u8], lease: LeaseId) -> usize {
    let attachment = if lease == 0 { 0 } else { ATTACHMENT_BYTES };
    let further_queues = queue_names_of(key).count().saturating_sub(1);
    KEY_BYTES + attachment + further_queues * QUEUE_ENTRY_BYTES + key.len() + value.len()
}

impl Store {
    /// Returns the number of bytes that the quota counts for all keys, leases and queues in the
    /// store.
    pub fn quota_usage(&self) -> usize {
        self.key_bytes + self.leases.0.len() * LEASE_BYTES + self.queues.queue_count() * QUEUE_BYTES
    }
}

impl Command {
    /// Returns an estimate of the number of bytes by which the command increases
    /// [`Store::quota_usage`]. Returns 0 for commands that put no key and grant no lease.
    ///
    /// The estimate includes the full size of a put, even if the put replaces a value. For each put
    /// of a claim, it includes a new queue, even if the queue exists. For a transaction, it
    /// includes only the larger branch.
    pub fn estimated_growth(&self) -> usize {
        match self {
            Command::Put(put) => put.estimated_growth(),
            Command::Txn(txn) => txn.estimated_growth(),
            Command::Grant { .. } => LEASE_BYTES,
            Command::AcquireLock(AcquireLock { name, lease, mode, value }) => {
                QUEUE_BYTES + key_size(&claim_key(name, *lease, *mode), value, *lease)
            }
            Command::Delete(_)
            | Command::Compact { .. }
            | Command::Revoke { .. }
            | Command::Expire { .. }
            | Command::Checkpoint { .. }
            | Command::Access(_)
            | Command::Alarm(_) => 0,
        }
    }
}

impl Put {
    fn estimated_growth(&self) -> usize {
        // The claim may be the first one on its name. The put then adds a queue.
        let is_claim = parse_claim_key(&self.key).is_some_and(|claim| claim.lease == self.lease);
        let queue = if is_claim { QUEUE_BYTES } else { 0 };
        queue + key_size(&self.key, &self.value, self.lease)
    }
}

impl Txn {
    fn estimated_growth(&self) -> usize {
        let cost = |operation: &TxnOperation| match operation {
            TxnOperation::Put(put) => put.estimated_growth(),
            TxnOperation::Txn(txn) => txn.estimated_growth(),
            TxnOperation::Range(_) | TxnOperation::Delete(_) => 0,
        };
        let branch = |operations: &[TxnOperation]| operations.iter().map(cost).sum::<usize>();
        branch(&self.success).max(branch(&self.failure))
    }
}
