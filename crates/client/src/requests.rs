//! Builds the transactions with which etcd clients implement locks, and interprets the responses.

use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::etcdserverpb::compare::{CompareResult, CompareTarget, TargetUnion};
use tenure_etcd::etcdserverpb::range_request::{SortOrder, SortTarget};
use tenure_etcd::etcdserverpb::request_op::Request;
use tenure_etcd::etcdserverpb::response_op::Response;
use tenure_etcd::mvccpb::KeyValue;
use tenure_session::QueueView;

/// Returns a request that adds a key to the end of a queue, and reads the key and its predecessor.
/// If the key exists already, its position stays the same, and the response may lack the key or its
/// predecessor.
pub(crate) fn enqueue_txn(name: &str, key: &[u8], value: Vec<u8>, lease: i64) -> rpc::TxnRequest {
    rpc::TxnRequest {
        // The key is created only if it does not exist: a repeated request must not overwrite a
        // later value.
        compare: vec![create_revision_equals(key, Vec::new(), 0)],
        success: vec![op(put(key, value, lease)), read_newest_two_op(name)],
        failure: vec![op(read_key(key))],
    }
}

/// Returns an operation that reads the newest two keys of a queue.
pub(crate) fn read_newest_two_op(name: &str) -> rpc::RequestOp {
    op(Request::RequestRange(rpc::RangeRequest {
        limit: 2,
        ..queue_keys_range(name, SortOrder::Descend)
    }))
}

/// Returns a request that adds a key to a queue if the range of the queue contains no key, and
/// reads the key. The range may also contain keys of other queues, whose names begin with `NAME/`.
pub(crate) fn enqueue_if_empty_txn(
    name: &str,
    key: &[u8],
    value: Vec<u8>,
    lease: i64,
) -> rpc::TxnRequest {
    let (first, end) = queue_range(name);
    rpc::TxnRequest {
        compare: vec![create_revision_equals(&first, end, 0)],
        success: vec![op(put(key, value, lease)), op(read_key(key))],
        failure: vec![op(read_key(key))],
    }
}

/// Part of a queue to read: the newest keys up to a creation revision. The part has at most `limit`
/// keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueRange<'a> {
    pub(crate) name: &'a str,
    /// Upper bound on the revision in which a key was created; 0 for no bound.
    pub(crate) max_create_revision: u64,
    pub(crate) limit: i64,
}

/// Returns a request that reads a key and, if `range` is given, the newest keys of a queue.
pub(crate) fn read_queue_txn(key: &[u8], range: Option<QueueRange<'_>>) -> rpc::TxnRequest {
    let mut success = vec![op(read_key(key))];
    if let Some(QueueRange { name, max_create_revision: max_revision, limit }) = range {
        let max_create_revision = signed(max_revision);
        let predecessors = rpc::RangeRequest {
            limit,
            max_create_revision,
            ..queue_keys_range(name, SortOrder::Descend)
        };
        success.push(op(Request::RequestRange(predecessors)));
    }
    rpc::TxnRequest { success, ..Default::default() }
}

/// Makes all reads of a transaction serializable: a member responds from its own state, without a
/// quorum.
pub(crate) fn with_serializable_reads(mut txn: rpc::TxnRequest) -> rpc::TxnRequest {
    for op in &mut txn.success {
        if let Some(Request::RequestRange(range)) = &mut op.request {
            range.serializable = true;
        }
    }
    txn
}

/// Returns a request that executes `change` if the key was created in the revision `fence`.
pub(crate) fn change_if_created_at_txn(key: &[u8], fence: u64, change: Request) -> rpc::TxnRequest {
    rpc::TxnRequest {
        compare: vec![create_revision_equals(key, Vec::new(), fence)],
        success: vec![op(change)],
        failure: Vec::new(),
    }
}

/// Returns a request that deletes a key. If `released_fence` is not 0, the request also releases
/// the lock with this fencing token.
pub(crate) fn delete_txn(key: &[u8], released_fence: u64) -> rpc::TxnRequest {
    let (key, released) = (key.to_vec(), signed(released_fence));
    let delete = rpc::DeleteRangeRequest { key, released, ..Default::default() };
    rpc::TxnRequest { success: vec![op(Request::RequestDeleteRange(delete))], ..Default::default() }
}

/// Returns a request that deletes keys. Each element of `keys` contains a key and the fencing token
/// of the lock that the deletion releases. The token is 0 if the deletion announces no release.
pub(crate) fn delete_all_txn(keys: &[(&[u8], u64)]) -> rpc::TxnRequest {
    with_deletions(&rpc::TxnRequest::default(), keys)
}

/// Adds deletions to the beginning of both branches of a transaction. Each element of `keys`
/// contains a key and the fencing token of the lock that the deletion releases. The token is 0 if
/// the deletion announces no release.
pub(crate) fn with_deletions(txn: &rpc::TxnRequest, keys: &[(&[u8], u64)]) -> rpc::TxnRequest {
    let deleted = || keys.iter().flat_map(|(key, fence)| delete_txn(key, *fence).success);
    let with = |rest: &[rpc::RequestOp]| deleted().chain(rest.iter().cloned()).collect();
    let compare = txn.compare.clone();
    // Without a comparison the failure branch is never taken.
    let failure = if compare.is_empty() { Vec::new() } else { with(&txn.failure) };
    rpc::TxnRequest { compare, success: with(&txn.success), failure }
}

/// Returns a request that reads up to `limit` keys of a queue, oldest first. Keys that were created
/// before the revision `min_revision` are omitted. The result may also contain keys of other
/// queues, whose names begin with `NAME/`.
pub(crate) fn oldest_keys_range(name: &str, min_revision: u64, limit: i64) -> rpc::RangeRequest {
    let min_create_revision = signed(min_revision);
    rpc::RangeRequest { limit, min_create_revision, ..queue(name, SortOrder::Ascend) }
}

/// Returns true if a key is in the queue of a lock: the key is the name, a slash, and one more
/// segment.
///
/// A key with more segments belongs to another lock, whose name begins with this name and a slash.
/// The range of the name contains the keys of both locks. The libraries of etcd treat these keys as
/// one queue.
pub(crate) fn is_in_queue(name: &str, key: &[u8]) -> bool {
    let rest = key.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"/"));
    rest.is_some_and(|segment| !segment.contains(&b'/'))
}

/// Returns the first key and the exclusive end of the range of all keys that begin with a name and
/// a slash.
pub(crate) fn queue_range(name: &str) -> (Vec<u8>, Vec<u8>) {
    (format!("{name}/").into_bytes(), format!("{name}0").into_bytes())
}

/// Returns true if the request created the key. In this case, the key is the newest key of its
/// queue.
pub(crate) fn has_created_key(response: &rpc::TxnResponse, key: &[u8]) -> bool {
    response.succeeded && key_values(response).any(|kv| kv.key == key && kv.version == 1)
}

pub(crate) fn revision(response: &rpc::TxnResponse) -> u64 {
    response.header.as_ref().map_or(0, |header| unsigned(header.revision))
}

pub(crate) fn key_values(response: &rpc::TxnResponse) -> impl Iterator<Item = &KeyValue> {
    let ranges = response.responses.iter().filter_map(|it| match &it.response {
        Some(Response::ResponseRange(range)) => Some(&range.kvs),
        _ => None,
    });
    ranges.flatten()
}

/// Returns the revision in which `key` was created. `None` if the response does not contain the
/// key.
pub(crate) fn create_revision(response: &rpc::TxnResponse, key: &[u8]) -> Option<u64> {
    key_values(response).find(|kv| kv.key == key).map(|kv| unsigned(kv.create_revision))
}

/// Extracts the view of a queue from a response. The view contains the predecessor, which is the
/// key before the caller's key in the queue.
///
/// # Errors
///
/// Returns an error if the response contains `limit` keys of other locks and no predecessor. The
/// predecessor may then be older than the keys of the response. The error is the creation revision
/// of the oldest key in the response. The caller must then read the keys that were created in this
/// revision or earlier.
pub(crate) fn queue_view(
    response: &rpc::TxnResponse,
    key: &[u8],
    name: &str,
    limit: i64,
) -> Result<QueueView<Vec<u8>>, u64> {
    let own_create_revision = create_revision(response, key);
    let others = || key_values(response).filter(|kv| kv.key != key);
    let predecessor = others().find(|kv| is_in_queue(name, &kv.key)).map(|kv| kv.key.clone());
    let count = i64::try_from(others().count()).unwrap_or(i64::MAX);
    match others().map(|kv| unsigned(kv.create_revision)).min() {
        Some(oldest) if predecessor.is_none() && count >= limit => Err(oldest),
        _ => Ok(QueueView { revision: revision(response), own_create_revision, predecessor }),
    }
}

/// Extracts the view of a queue from a response, but reads only the caller's own key. The view has
/// no predecessor, even if the response contains other keys.
pub(crate) fn view_without_predecessor(
    response: &rpc::TxnResponse,
    key: &[u8],
) -> QueueView<Vec<u8>> {
    let own_create_revision = create_revision(response, key);
    QueueView { revision: revision(response), own_create_revision, predecessor: None }
}

/// Returns a request that reads the keys of a queue without their values, in ascending or
/// descending order of their creation.
pub(crate) fn queue_keys_range(name: &str, order: SortOrder) -> rpc::RangeRequest {
    rpc::RangeRequest { keys_only: true, ..queue(name, order) }
}

fn queue(name: &str, order: SortOrder) -> rpc::RangeRequest {
    let (key, range_end) = queue_range(name);
    rpc::RangeRequest {
        key,
        range_end,
        sort_order: order.into(),
        sort_target: SortTarget::Create.into(),
        ..Default::default()
    }
}

/// Returns the condition that each key from `key` to `range_end` was created in `revision`. If
/// `revision` is 0, the condition is that no key of this range exists. If `range_end` is empty, the
/// range contains only `key`.
pub(crate) fn create_revision_equals(
    key: &[u8],
    range_end: Vec<u8>,
    revision: u64,
) -> rpc::Compare {
    let value = TargetUnion::CreateRevision(signed(revision));
    rpc::Compare { range_end, ..target_equals(key, CompareTarget::Create, value) }
}

/// Returns the condition that the last change of a key was in this revision.
pub(crate) fn mod_revision_equals(key: &[u8], revision: u64) -> rpc::Compare {
    target_equals(key, CompareTarget::Mod, TargetUnion::ModRevision(signed(revision)))
}

/// Returns the condition that the field `target` of a key has this value. A field is, for instance,
/// the version or the creation revision. The revisions of a key that does not exist are 0.
pub(crate) fn target_equals(key: &[u8], target: CompareTarget, value: TargetUnion) -> rpc::Compare {
    rpc::Compare {
        result: CompareResult::Equal.into(),
        target: target.into(),
        key: key.to_vec(),
        target_union: Some(value),
        range_end: Vec::new(),
    }
}

pub(crate) fn put(key: &[u8], value: Vec<u8>, lease: i64) -> Request {
    Request::RequestPut(rpc::PutRequest { key: key.to_vec(), value, lease, ..Default::default() })
}

pub(crate) fn read_key(key: &[u8]) -> Request {
    Request::RequestRange(rpc::RangeRequest { key: key.to_vec(), ..Default::default() })
}

pub(crate) const fn op(request: Request) -> rpc::RequestOp {
    rpc::RequestOp { request: Some(request) }
}

pub(crate) fn unsigned(revision: i64) -> u64 {
    u64::try_from(revision).unwrap_or(0)
}

pub(crate) fn signed(revision: u64) -> i64 {
    i64::try_from(revision).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(keys: &[(&str, i64)]) -> rpc::TxnResponse {
        let kv = |(key, create_revision): &(&str, i64)| KeyValue {
            key: key.as_bytes().to_vec(),
            create_revision: *create_revision,
            ..Default::default()
        };
        let range = rpc::RangeResponse { kvs: keys.iter().map(kv).collect(), ..Default::default() };
        let operation = rpc::ResponseOp { response: Some(Response::ResponseRange(range)) };
        rpc::TxnResponse { responses: vec![operation], ..Default::default() }
    }

    #[test]
    fn queue_contains_keys_with_one_segment() {
        for (key, expected) in [
            ("a/1", true),
            ("a/", true),
            ("a/1.shared", true),
            ("a/b/1", false),
            ("a//1", false),
            ("ab/1", false),
            ("a", false),
        ] {
            assert_eq!(is_in_queue("a", key.as_bytes()), expected, "{key}");
        }
        assert!(is_in_queue("a/b", b"a/b/1") && !is_in_queue("a/b", b"a/1"));
    }

    #[test]
    fn view_of_other_queues_only_is_incomplete() {
        let view = |keys: &[(&str, i64)], limit| queue_view(&response(keys), b"a/9", "a", limit);
        let predecessor = |view: Result<QueueView<Vec<u8>>, u64>| view.map(|it| it.predecessor);
        assert_eq!(predecessor(view(&[("a/9", 9), ("a/1", 5)], 1)), Ok(Some(b"a/1".to_vec())));
        assert_eq!(predecessor(view(&[("a/9", 9), ("a/b/1", 5)], 1)), Err(5));
        assert_eq!(predecessor(view(&[("a/9", 9), ("a/b/2", 6), ("a/b/1", 5)], 2)), Err(5));
        let mixed = [("a/9", 9), ("a/b/2", 6), ("a/1", 5)];
        assert_eq!(predecessor(view(&mixed, 2)), Ok(Some(b"a/1".to_vec())));
        // There are no older keys.
        assert_eq!(predecessor(view(&[("a/9", 9), ("a/b/1", 5)], 2)), Ok(None));
        assert_eq!(predecessor(view(&[("a/9", 9)], 1)), Ok(None));
    }
}
