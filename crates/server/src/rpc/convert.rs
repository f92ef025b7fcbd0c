//! Conversions between protobuf messages and types of the store.

use std::sync::Arc;

use tenure_store as store;
use tenure_store::{Bytes, KeySpan, LeaseId};

use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::mvccpb;

use crate::rpc::error::RpcError;

/// Converts a number of the store to the signed number of a message. The numbers that occur in a
/// store fit; a larger number becomes the largest signed number.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Converts a number of a message to a number of the store. Negative numbers mean 0.
pub(crate) fn unsigned_or_zero(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// Converts a signed number in a message to the ID of a lease. Both have the same 64 bits.
pub(crate) fn lease_from_wire(id: i64) -> LeaseId {
    u64::from_ne_bytes(id.to_ne_bytes())
}

/// Converts the ID of a lease to the signed number in a message. Both have the same 64 bits.
pub(crate) fn lease_to_wire(lease: LeaseId) -> i64 {
    i64::from_ne_bytes(lease.to_ne_bytes())
}

pub(crate) fn span(key: Vec<u8>, end: Vec<u8>) -> KeySpan {
    KeySpan { key: Bytes::from(key), end: Bytes::from(end) }
}

/// Converts a range. Rejects an unknown sort order or target.
pub(crate) fn range(request: rpc::RangeRequest) -> Result<store::RangeRead, RpcError> {
    use rpc::range_request::{SortOrder, SortTarget};
    let order = SortOrder::try_from(request.sort_order).map_err(|_| RpcError::INVALID_SORT)?;
    let target = SortTarget::try_from(request.sort_target).map_err(|_| RpcError::INVALID_SORT)?;
    Ok(store::RangeRead {
        order: match order {
            SortOrder::None => store::SortOrder::None,
            SortOrder::Ascend => store::SortOrder::Ascend,
            SortOrder::Descend => store::SortOrder::Descend,
        },
        target: match target {
            SortTarget::Key => store::SortTarget::Key,
            SortTarget::Version => store::SortTarget::Version,
            SortTarget::Create => store::SortTarget::Create,
            SortTarget::Mod => store::SortTarget::Mod,
            SortTarget::Value => store::SortTarget::Value,
        },
        span: span(request.key, request.range_end),
        revision: unsigned_or_zero(request.revision),
        limit: unsigned_or_zero(request.limit),
        keys_only: request.keys_only,
        count_only: request.count_only,
        min_mod_revision: unsigned_or_zero(request.min_mod_revision),
        max_mod_revision: max_revision(request.max_mod_revision),
        min_create_revision: unsigned_or_zero(request.min_create_revision),
        max_create_revision: max_revision(request.max_create_revision),
    })
}

/// Converts an upper bound on revisions. A negative bound becomes revision 1. The store is empty in
/// revision 1, so this bound excludes all keys.
fn max_revision(revision: i64) -> u64 {
    u64::try_from(revision).unwrap_or(1)
}

pub(crate) fn put(request: rpc::PutRequest) -> store::Put {
    store::Put {
        key: Bytes::from(request.key),
        value: Bytes::from(request.value),
        lease: lease_from_wire(request.lease),
        prev_kv: request.prev_kv,
        ignore_value: request.ignore_value,
        ignore_lease: request.ignore_lease,
    }
}

pub(crate) fn delete(request: rpc::DeleteRangeRequest) -> store::Delete {
    store::Delete { span: span(request.key, request.range_end), prev_kv: request.prev_kv }
}

/// Converts the request to a watch. An empty key means the first possible key, as at etcd.
pub(crate) fn parse_watch(request: &rpc::WatchCreateRequest) -> store::WatchFilter {
    use rpc::watch_create_request::FilterType;
    let key = if request.key.is_empty() { &b"\0"[..] } else { &request.key };
    store::WatchFilter {
        span: KeySpan { key: Bytes::from(key), end: Bytes::from(request.range_end.as_slice()) },
        start_revision: unsigned_or_zero(request.start_revision),
        prev_kv: request.prev_kv,
        no_put: request.filters().any(|it| it == FilterType::Noput),
        no_delete: request.filters().any(|it| it == FilterType::Nodelete),
    }
}

/// Converts a transaction. Rejects an operation without a request, as etcd does. Also rejects an
/// unknown comparison.
pub(crate) fn txn(request: rpc::TxnRequest) -> Result<store::Txn, RpcError> {
    Ok(store::Txn {
        compare: request.compare.into_iter().map(compare).collect::<Result<_, _>>()?,
        success: request.success.into_iter().map(operation).collect::<Result<_, _>>()?,
        failure: request.failure.into_iter().map(operation).collect::<Result<_, _>>()?,
    })
}

fn compare(request: rpc::Compare) -> Result<store::Compare, RpcError> {
    use rpc::compare::{CompareResult, CompareTarget, TargetUnion};
    let target =
        CompareTarget::try_from(request.target).map_err(|_| RpcError::INVALID_COMPARISON)?;
    let relation =
        CompareResult::try_from(request.result).map_err(|_| RpcError::INVALID_COMPARISON)?;
    let relation = match relation {
        CompareResult::Equal => store::CompareRelation::Equal,
        CompareResult::Greater => store::CompareRelation::Greater,
        CompareResult::Less => store::CompareRelation::Less,
        CompareResult::NotEqual => store::CompareRelation::NotEqual,
    };
    let target = match (target, request.target_union) {
        (CompareTarget::Version, Some(TargetUnion::Version(it))) => {
            store::ComparedAttribute::Version(it)
        }
        (CompareTarget::Create, Some(TargetUnion::CreateRevision(it))) => {
            store::ComparedAttribute::Create(it)
        }
        (CompareTarget::Mod, Some(TargetUnion::ModRevision(it))) => {
            store::ComparedAttribute::Mod(it)
        }
        (CompareTarget::Lease, Some(TargetUnion::Lease(it))) => store::ComparedAttribute::Lease(it),
        (CompareTarget::Value, Some(TargetUnion::Value(it))) => {
            store::ComparedAttribute::Value(it.into())
        }
        // A missing value is 0 or empty. A value of another target is ignored.
        (CompareTarget::Version, _) => store::ComparedAttribute::Version(0),
        (CompareTarget::Create, _) => store::ComparedAttribute::Create(0),
        (CompareTarget::Mod, _) => store::ComparedAttribute::Mod(0),
        (CompareTarget::Lease, _) => store::ComparedAttribute::Lease(0),
        (CompareTarget::Value, _) => store::ComparedAttribute::Value(Bytes::default()),
    };
    Ok(store::Compare { span: span(request.key, request.range_end), relation, target })
}

fn operation(request: rpc::RequestOp) -> Result<store::TxnOperation, RpcError> {
    use rpc::request_op::Request;
    Ok(match request.request.ok_or(store::Error::KeyNotFound)? {
        Request::RequestRange(request) => store::TxnOperation::Range(range(request)?),
        Request::RequestPut(request) => store::TxnOperation::Put(put(request)),
        Request::RequestDeleteRange(request) => store::TxnOperation::Delete(delete(request)),
        Request::RequestTxn(request) => store::TxnOperation::Txn(txn(request)?),
    })
}

pub(crate) fn kv(kv: &store::KeyValue) -> mvccpb::KeyValue {
    mvccpb::KeyValue {
        key: kv.key.to_vec(),
        create_revision: signed(kv.create_revision),
        mod_revision: signed(kv.mod_revision),
        version: signed(kv.version),
        value: kv.value.to_vec(),
        lease: lease_to_wire(kv.lease),
    }
}

fn kvs(all: &[Arc<store::KeyValue>]) -> Vec<mvccpb::KeyValue> {
    all.iter().map(|it| kv(it)).collect()
}

pub(crate) fn event(event: &store::Event) -> mvccpb::Event {
    use mvccpb::event::EventType;
    let kind = match event.kind {
        store::EventKind::Put => EventType::Put,
        store::EventKind::Delete => EventType::Delete,
    };
    mvccpb::Event {
        r#type: kind.into(),
        kv: Some(kv(&event.kv)),
        prev_kv: event.prev.as_deref().map(kv),
    }
}

pub(crate) fn range_response(result: &store::RangeResult) -> rpc::RangeResponse {
    rpc::RangeResponse {
        header: None,
        kvs: kvs(&result.kvs),
        more: result.more,
        count: signed(result.count),
    }
}

pub(crate) fn put_response(result: &store::PutResult) -> rpc::PutResponse {
    rpc::PutResponse { header: None, prev_kv: result.prev.as_deref().map(kv) }
}

pub(crate) fn delete_response(result: &store::DeleteResult) -> rpc::DeleteRangeResponse {
    rpc::DeleteRangeResponse {
        header: None,
        deleted: signed(result.count),
        prev_kvs: kvs(&result.prev),
    }
}

pub(crate) fn txn_response(result: &store::TxnResult) -> rpc::TxnResponse {
    rpc::TxnResponse {
        header: None,
        succeeded: result.succeeded,
        responses: result.results.iter().map(operation_response).collect(),
    }
}

/// Converts the result of an operation of a transaction. The header of the response contains only
/// the revision. In the response of a nested transaction, the header is empty. etcd does the same.
fn operation_response(result: &store::TxnOperationResult) -> rpc::ResponseOp {
    use rpc::response_op::Response;
    let header =
        |revision| Some(rpc::ResponseHeader { revision: signed(revision), ..Default::default() });
    let response = match result {
        store::TxnOperationResult::Range(it) => Response::ResponseRange(rpc::RangeResponse {
            header: header(it.revision),
            ..range_response(it)
        }),
        store::TxnOperationResult::Put(it) => Response::ResponsePut(rpc::PutResponse {
            header: header(it.revision),
            ..put_response(it)
        }),
        store::TxnOperationResult::Delete(it) => {
            Response::ResponseDeleteRange(rpc::DeleteRangeResponse {
                header: header(it.revision),
                ..delete_response(it)
            })
        }
        store::TxnOperationResult::Txn(it) => {
            let header = Some(rpc::ResponseHeader::default());
            Response::ResponseTxn(rpc::TxnResponse { header, ..txn_response(it) })
        }
    };
    rpc::ResponseOp { response: Some(response) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_unknown_enum_values() {
        let txn_with = |target, result| {
            let compare = vec![rpc::Compare { target, result, ..Default::default() }];
            txn(rpc::TxnRequest { compare, ..Default::default() }).map(|it| it.compare.len())
        };
        assert_eq!(txn_with(4, 3), Ok(1));
        assert_eq!(txn_with(5, 3), Err(RpcError::INVALID_COMPARISON));
        assert_eq!(txn_with(4, 4), Err(RpcError::INVALID_COMPARISON));
        let range_by = |sort_order, sort_target| {
            range(rpc::RangeRequest { sort_order, sort_target, ..Default::default() }).err()
        };
        assert_eq!(range_by(2, 4), None);
        assert_eq!(range_by(3, 4), Some(RpcError::INVALID_SORT));
        assert_eq!(range_by(2, -1), Some(RpcError::INVALID_SORT));
    }
}
