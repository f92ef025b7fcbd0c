//! The transactions of the recipe, as clients of etcd write them, and what is read in answers.

use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::etcdserverpb::compare::{CompareResult, CompareTarget, TargetUnion};
use tenure_etcd::etcdserverpb::range_request::{SortOrder, SortTarget};
use tenure_etcd::etcdserverpb::request_op::Request;
use tenure_etcd::etcdserverpb::response_op::Response;
use tenure_etcd::mvccpb::KeyValue;
use tenure_session::Seen;

/// Puts a key at the end of a queue, where it stays however often that is asked. In the same look:
/// this key, and who is ahead.
pub(crate) fn enqueue(name: &str, key: &[u8], value: Vec<u8>, lease: i64) -> rpc::TxnRequest {
    let newest = rpc::RangeRequest { limit: 2, ..queue(name, SortOrder::Descend) };
    // A value is not put again in the place of one that came later; to put none again is nothing.
    let (compare, failure) = match value.is_empty() {
        true => (Vec::new(), Vec::new()),
        false => (vec![created(key, Vec::new(), 0)], vec![op(range(key))]),
    };
    let success = vec![op(put(key, value, lease)), op(Request::RequestRange(newest))];
    rpc::TxnRequest { compare, success, failure }
}

/// The same, if nobody is in the queue.
pub(crate) fn enqueue_alone(name: &str, key: &[u8], value: Vec<u8>, lease: i64) -> rpc::TxnRequest {
    let (first, end) = span(name);
    rpc::TxnRequest {
        compare: vec![created(&first, end, 0)],
        success: vec![op(put(key, value, lease)), op(range(key))],
        failure: vec![op(range(key))],
    }
}

/// Looks for a key, and for who is next ahead of where it was created in the queue of a name.
pub(crate) fn look(key: &[u8], ahead_of: Option<(&str, u64)>) -> rpc::TxnRequest {
    let mut success = vec![op(range(key))];
    if let Some((name, own)) = ahead_of {
        let max_create_revision = signed(own.saturating_sub(1));
        let ahead =
            rpc::RangeRequest { limit: 1, max_create_revision, ..queue(name, SortOrder::Descend) };
        success.push(op(Request::RequestRange(ahead)));
    }
    rpc::TxnRequest { success, ..Default::default() }
}

/// The same question, which the member that is asked answers as far as it has come itself.
pub(crate) fn as_far_as_known(mut look: rpc::TxnRequest) -> rpc::TxnRequest {
    for op in &mut look.success {
        if let Some(Request::RequestRange(range)) = &mut op.request {
            range.serializable = true;
        }
    }
    look
}

/// Gives a key another value, if it is still the one that was created in this revision.
pub(crate) fn put_own(key: &[u8], fence: u64, value: Vec<u8>, lease: i64) -> rpc::TxnRequest {
    rpc::TxnRequest {
        compare: vec![created(key, Vec::new(), fence)],
        success: vec![op(put(key, value, lease))],
        failure: Vec::new(),
    }
}

/// Deletes a key. Whoever held a lock by it, by this fence, does so no longer; nobody did, if it
/// is 0.
pub(crate) fn delete(key: &[u8], fence: u64) -> rpc::TxnRequest {
    let (key, released) = (key.to_vec(), signed(fence));
    let delete = rpc::DeleteRangeRequest { key, released, ..Default::default() };
    rpc::TxnRequest { success: vec![op(Request::RequestDeleteRange(delete))], ..Default::default() }
}

/// Deletes keys ahead of all else, whichever way it goes.
pub(crate) fn behind(asked: &rpc::TxnRequest, left: &[(&[u8], u64)]) -> rpc::TxnRequest {
    let deleted = || left.iter().flat_map(|(key, fence)| delete(key, *fence).success);
    let with = |rest: &[rpc::RequestOp]| deleted().chain(rest.iter().cloned()).collect();
    let compare = asked.compare.clone();
    // Where nothing is compared it never goes the other way.
    let failure = if compare.is_empty() { Vec::new() } else { with(&asked.failure) };
    rpc::TxnRequest { compare, success: with(&asked.success), failure }
}

/// Who is first in the queue of a name.
pub(crate) fn first(name: &str) -> rpc::RangeRequest {
    rpc::RangeRequest { limit: 1, ..queue(name, SortOrder::Ascend) }
}

/// Every key in the queue of a name: the first, and what they end before.
pub(crate) fn span(name: &str) -> (Vec<u8>, Vec<u8>) {
    (format!("{name}/").into_bytes(), format!("{name}0").into_bytes())
}

/// Whether it is the first time that this put the key, so that it was the newest of all.
pub(crate) fn is_new(answer: &rpc::TxnResponse, key: &[u8]) -> bool {
    answer.succeeded && found(answer).any(|kv| kv.key == key && kv.version == 1)
}

fn found(answer: &rpc::TxnResponse) -> impl Iterator<Item = &KeyValue> {
    let ranges = answer.responses.iter().filter_map(|it| match &it.response {
        Some(Response::ResponseRange(range)) => Some(&range.kvs),
        _ => None,
    });
    ranges.flatten()
}

/// What a look saw of a key and of who is ahead of it.
pub(crate) fn seen(answer: &rpc::TxnResponse, key: &[u8]) -> Seen<Vec<u8>> {
    let own = found(answer).find(|kv| kv.key == key);
    let ahead = found(answer).find(|kv| kv.key != key);
    Seen {
        revision: answer.header.as_ref().map_or(0, |header| unsigned(header.revision)),
        own: own.map(|kv| unsigned(kv.create_revision)),
        ahead: ahead.map(|kv| kv.key.clone()),
    }
}

fn queue(name: &str, order: SortOrder) -> rpc::RangeRequest {
    let (key, range_end) = span(name);
    rpc::RangeRequest {
        key,
        range_end,
        sort_order: order.into(),
        sort_target: SortTarget::Create.into(),
        ..Default::default()
    }
}

fn created(key: &[u8], range_end: Vec<u8>, revision: u64) -> rpc::Compare {
    rpc::Compare {
        result: CompareResult::Equal.into(),
        target: CompareTarget::Create.into(),
        key: key.to_vec(),
        target_union: Some(TargetUnion::CreateRevision(signed(revision))),
        range_end,
    }
}

fn put(key: &[u8], value: Vec<u8>, lease: i64) -> Request {
    Request::RequestPut(rpc::PutRequest { key: key.to_vec(), value, lease, ..Default::default() })
}

fn range(key: &[u8]) -> Request {
    Request::RequestRange(rpc::RangeRequest { key: key.to_vec(), ..Default::default() })
}

const fn op(request: Request) -> rpc::RequestOp {
    rpc::RequestOp { request: Some(request) }
}

/// Revisions are positive.
pub(crate) fn unsigned(revision: i64) -> u64 {
    u64::try_from(revision).unwrap_or(0)
}

fn signed(revision: u64) -> i64 {
    i64::try_from(revision).unwrap_or(i64::MAX)
}
