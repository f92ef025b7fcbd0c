//! Transactions of read/write locks, semaphores and barriers. Each transaction creates its key at
//! most once, and never changes the key. The recipes of etcd order claims by the last change of
//! their keys. A change of a key would therefore move its claim to the end of the queue.

use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::etcdserverpb::compare::{CompareResult, CompareTarget, TargetUnion};
use tenure_etcd::etcdserverpb::request_op::Request;

use crate::requests::{
    create_revision_equals, op, put, queue_range, read_key, read_newest_two_op, signed,
    target_equals,
};

/// Key that a transaction creates, with its value and its lease.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewKey<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) value: &'a [u8],
    /// Lease that the key is attached to; 0 for none.
    pub(crate) lease: i64,
}

impl NewKey<'_> {
    /// Returns a request that creates the key if the key does not exist, and then reads the key.
    pub(crate) fn create_txn(self) -> rpc::TxnRequest {
        let NewKey { key, value, lease } = self;
        rpc::TxnRequest {
            compare: vec![create_revision_equals(key, Vec::new(), 0)],
            success: vec![op(put(key, value.to_vec(), lease)), op(read_key(key))],
            failure: vec![op(read_key(key))],
        }
    }

    /// Returns a request that creates the key if the key does not exist, and then reads the key. If
    /// the request creates the key, the request also reads the two newest keys of `queue`. The
    /// created key may be one of these two keys.
    pub(crate) fn create_and_read_newest_txn(self, queue: &str) -> rpc::TxnRequest {
        let mut request = self.create_txn();
        // The newest key of the queue may be the created one.
        request.success.push(read_newest_two_op(queue));
        request
    }

    /// Returns a request that creates the key if the key does not exist and the queues are
    /// unchanged. The queues are unchanged if no key was added to any of `queues` after the
    /// revision `since`. The request also reads the key.
    pub(crate) fn create_if_queues_unchanged_txn(
        self,
        queues: &[String],
        since: u64,
    ) -> rpc::TxnRequest {
        let mut request = self.create_txn();
        request.compare.extend(queues.iter().map(|queue| is_unchanged(queue, since)));
        request
    }
}

fn is_unchanged(queue: &str, since: u64) -> rpc::Compare {
    let (key, range_end) = queue_range(queue);
    let mut compare = create_revision_equals(&key, range_end, since.saturating_add(1));
    compare.result = CompareResult::Less.into();
    compare
}

/// Returns the condition that a key has this value. The condition is false if the key does not
/// exist.
pub(crate) fn value_equals(key: &[u8], value: &[u8]) -> rpc::Compare {
    target_equals(key, CompareTarget::Value, TargetUnion::Value(value.to_vec()))
}

pub(crate) fn read_keys_txn(keys: &[impl AsRef<[u8]>]) -> rpc::TxnRequest {
    let success = keys.iter().map(|key| op(read_key(key.as_ref()))).collect();
    rpc::TxnRequest { success, ..Default::default() }
}

/// Returns a request that checks keys and changes nothing. `keys` contains pairs of a key and a
/// revision. The request succeeds if each key exists and was created in the revision of its pair.
pub(crate) fn check_create_revisions_txn(keys: &[(Vec<u8>, u64)]) -> rpc::TxnRequest {
    let compare = keys
        .iter()
        .map(|(key, revision)| create_revision_equals(key, Vec::new(), *revision))
        .collect();
    rpc::TxnRequest { compare, ..Default::default() }
}

/// Returns a request that reads up to `limit` keys of a queue with their leases, oldest first. Keys
/// that were created before the revision `min_revision` are omitted.
pub(crate) fn read_oldest_keys_txn(queue: &str, min_revision: u64, limit: i64) -> rpc::TxnRequest {
    let range = crate::requests::oldest_keys_range(queue, min_revision, limit);
    rpc::TxnRequest { success: vec![op(Request::RequestRange(range))], ..Default::default() }
}

/// Returns a request that reads the key `key`, and one page of the keys of a queue. The keys of the
/// page are in the order of their names.
pub(crate) fn read_queue_page_txn(key: &[u8], page: QueuePageRequest) -> rpc::TxnRequest {
    let range = rpc::RangeRequest {
        key: page.from,
        range_end: page.end,
        limit: page.limit,
        revision: signed(page.revision),
        keys_only: page.is_keys_only,
        max_create_revision: signed(page.max_create_revision),
        ..Default::default()
    };
    let success = vec![op(read_key(key)), op(Request::RequestRange(range))];
    rpc::TxnRequest { success, ..Default::default() }
}

/// A page of a queue: the range and the bounds of a read that returns part of the queue's keys.
#[derive(Clone, Debug)]
pub(crate) struct QueuePageRequest {
    /// Inclusive start of the range of the page.
    pub(crate) from: Vec<u8>,
    /// Exclusive end of the range of the queue.
    pub(crate) end: Vec<u8>,
    /// Upper bound on the number of keys of the page.
    pub(crate) limit: i64,
    /// Revision of the store to read; 0 for the current revision.
    pub(crate) revision: u64,
    /// Upper bound on the revision in which a key was created; 0 for no bound.
    pub(crate) max_create_revision: u64,
    /// True if the values of the keys are not read.
    pub(crate) is_keys_only: bool,
}
