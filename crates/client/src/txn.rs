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
    let newest = rpc::RangeRequest { limit: 2, ..keys(name, SortOrder::Descend) };
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

/// Where to look in a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    pub(crate) name: &'a str,
    /// Upper bound on the creation of the keys; 0 for none.
    pub(crate) most: u64,
    /// Upper bound on the number of keys, the newest of them.
    pub(crate) limit: i64,
}

/// Reads a key, and the newest keys of a part of a queue.
pub(crate) fn look(key: &[u8], part: Option<Part<'_>>) -> rpc::TxnRequest {
    let mut success = vec![op(range(key))];
    if let Some(Part { name, most, limit }) = part {
        let max_create_revision = signed(most);
        let ahead =
            rpc::RangeRequest { limit, max_create_revision, ..keys(name, SortOrder::Descend) };
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

/// Reads the oldest keys of a queue that were created in a revision or later.
pub(crate) fn oldest(name: &str, from: u64, limit: i64) -> rpc::RangeRequest {
    let min_create_revision = signed(from);
    rpc::RangeRequest { limit, min_create_revision, ..queue(name, SortOrder::Ascend) }
}

/// True if a key is in the queue of a name: one segment follows the name. Keys with more segments
/// are of locks whose names begin with this one and a slash. In a range of keys both are mixed, and
/// libraries of etcd take all of them for one queue.
pub(crate) fn is_direct(name: &str, key: &[u8]) -> bool {
    let rest = key.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"/"));
    rest.is_some_and(|segment| !segment.contains(&b'/'))
}

/// Every key below a name: the first, and what they end before.
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

/// Returns what a look saw of a key and of the next one ahead in its queue.
///
/// If it saw as many keys as it asked for, and all of them are of other locks, the error is the
/// oldest creation among them: the key that is next ahead is not newer.
pub(crate) fn seen(
    answer: &rpc::TxnResponse,
    key: &[u8],
    name: &str,
    limit: i64,
) -> Result<Seen<Vec<u8>>, u64> {
    let own = found(answer).find(|kv| kv.key == key).map(|kv| unsigned(kv.create_revision));
    let others = || found(answer).filter(|kv| kv.key != key);
    let ahead = others().find(|kv| is_direct(name, &kv.key)).map(|kv| kv.key.clone());
    let count = i64::try_from(others().count()).unwrap_or(i64::MAX);
    match others().map(|kv| unsigned(kv.create_revision)).min() {
        Some(oldest) if ahead.is_none() && count >= limit => Err(oldest),
        _ => {
            let revision = answer.header.as_ref().map_or(0, |header| unsigned(header.revision));
            Ok(Seen { revision, own, ahead })
        }
    }
}

fn keys(name: &str, order: SortOrder) -> rpc::RangeRequest {
    rpc::RangeRequest { keys_only: true, ..queue(name, order) }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(keys: &[(&str, i64)]) -> rpc::TxnResponse {
        let kv = |(key, create_revision): &(&str, i64)| KeyValue {
            key: key.as_bytes().to_vec(),
            create_revision: *create_revision,
            ..Default::default()
        };
        let range = rpc::RangeResponse { kvs: keys.iter().map(kv).collect(), ..Default::default() };
        let response = rpc::ResponseOp { response: Some(Response::ResponseRange(range)) };
        rpc::TxnResponse { responses: vec![response], ..Default::default() }
    }

    #[test]
    fn a_queue_has_keys_of_one_segment() {
        for (key, expected) in [
            ("a/1", true),
            ("a/", true),
            ("a/1.shared", true),
            ("a/b/1", false),
            ("a//1", false),
            ("ab/1", false),
            ("a", false),
        ] {
            assert_eq!(is_direct("a", key.as_bytes()), expected, "{key}");
        }
        assert!(is_direct("a/b", b"a/b/1") && !is_direct("a/b", b"a/1"));
    }

    #[test]
    fn a_look_that_shows_only_other_queues_is_continued() {
        let seen = |keys: &[(&str, i64)], limit| seen(&answer(keys), b"a/9", "a", limit);
        let ahead = |seen: Result<Seen<Vec<u8>>, u64>| seen.map(|it| it.ahead);
        assert_eq!(ahead(seen(&[("a/9", 9), ("a/1", 5)], 1)), Ok(Some(b"a/1".to_vec())));
        assert_eq!(ahead(seen(&[("a/9", 9), ("a/b/1", 5)], 1)), Err(5));
        assert_eq!(ahead(seen(&[("a/9", 9), ("a/b/2", 6), ("a/b/1", 5)], 2)), Err(5));
        let mixed = [("a/9", 9), ("a/b/2", 6), ("a/1", 5)];
        assert_eq!(ahead(seen(&mixed, 2)), Ok(Some(b"a/1".to_vec())));
        // There are no more.
        assert_eq!(ahead(seen(&[("a/9", 9), ("a/b/1", 5)], 2)), Ok(None));
        assert_eq!(ahead(seen(&[("a/9", 9)], 1)), Ok(None));
    }
}
