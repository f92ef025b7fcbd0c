//! Between what travels and what the store understands.

use std::sync::Arc;

use tenure_store as store;
use tenure_store::{Bytes, LeaseId, Span};

use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::mvccpb;

use crate::refusal::Refusal;

/// A number of the store as clients have it. Neither is ever beyond the other's.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number of a client as the store has it: what is below 0 means what 0 means.
pub(crate) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// The name of a lease: bits, whatever a client takes their sign for.
pub(crate) fn lease(id: i64) -> LeaseId {
    u64::from_ne_bytes(id.to_ne_bytes())
}

/// The same for clients.
pub(crate) fn lease_id(lease: LeaseId) -> i64 {
    i64::from_ne_bytes(lease.to_ne_bytes())
}

pub(crate) fn span(key: Vec<u8>, end: Vec<u8>) -> Span {
    Span { key: Bytes::from(key), end: Bytes::from(end) }
}

/// A range that says nothing of its order means the store's. Refused where it names one that nobody
/// knows.
pub(crate) fn range(asked: rpc::RangeRequest) -> Result<store::Range, Refusal> {
    use rpc::range_request::{SortOrder, SortTarget};
    let order = SortOrder::try_from(asked.sort_order).map_err(|_| Refusal::NO_ORDER)?;
    let target = SortTarget::try_from(asked.sort_target).map_err(|_| Refusal::NO_ORDER)?;
    Ok(store::Range {
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
        span: span(asked.key, asked.range_end),
        revision: unsigned(asked.revision),
        limit: unsigned(asked.limit),
        keys_only: asked.keys_only,
        count_only: asked.count_only,
        min_mod_revision: unsigned(asked.min_mod_revision),
        max_mod_revision: most(asked.max_mod_revision),
        min_create_revision: unsigned(asked.min_create_revision),
        max_create_revision: most(asked.max_create_revision),
    })
}

/// A last revision. No key has one below 0, and neither has any the first, which nothing wrote.
fn most(revision: i64) -> u64 {
    u64::try_from(revision).unwrap_or(1)
}

pub(crate) fn put(asked: rpc::PutRequest) -> store::Put {
    store::Put {
        key: Bytes::from(asked.key),
        value: Bytes::from(asked.value),
        lease: lease(asked.lease),
        prev_kv: asked.prev_kv,
        ignore_value: asked.ignore_value,
        ignore_lease: asked.ignore_lease,
    }
}

pub(crate) fn delete(asked: rpc::DeleteRangeRequest) -> store::Delete {
    store::Delete { span: span(asked.key, asked.range_end), prev_kv: asked.prev_kv }
}

/// Refused where an operation says nothing, in the words of etcd, and where something is compared
/// in a way that nobody knows: what would be done about it is not for a guess.
pub(crate) fn txn(asked: rpc::TxnRequest) -> Result<store::Txn, Refusal> {
    Ok(store::Txn {
        compare: asked.compare.into_iter().map(compare).collect::<Result<_, _>>()?,
        success: asked.success.into_iter().map(operation).collect::<Result<_, _>>()?,
        failure: asked.failure.into_iter().map(operation).collect::<Result<_, _>>()?,
    })
}

fn compare(asked: rpc::Compare) -> Result<store::Compare, Refusal> {
    use rpc::compare::{CompareResult, CompareTarget, TargetUnion};
    let target = CompareTarget::try_from(asked.target).map_err(|_| Refusal::NO_COMPARISON)?;
    let relation = CompareResult::try_from(asked.result).map_err(|_| Refusal::NO_COMPARISON)?;
    let relation = match relation {
        CompareResult::Equal => store::Relation::Equal,
        CompareResult::Greater => store::Relation::Greater,
        CompareResult::Less => store::Relation::Less,
        CompareResult::NotEqual => store::Relation::NotEqual,
    };
    let target = match (target, asked.target_union) {
        (CompareTarget::Version, Some(TargetUnion::Version(it))) => store::Target::Version(it),
        (CompareTarget::Create, Some(TargetUnion::CreateRevision(it))) => store::Target::Create(it),
        (CompareTarget::Mod, Some(TargetUnion::ModRevision(it))) => store::Target::Mod(it),
        (CompareTarget::Lease, Some(TargetUnion::Lease(it))) => store::Target::Lease(it),
        (CompareTarget::Value, Some(TargetUnion::Value(it))) => store::Target::Value(it.into()),
        // What is not given is 0, or nothing; what is given of another target does not count.
        (CompareTarget::Version, _) => store::Target::Version(0),
        (CompareTarget::Create, _) => store::Target::Create(0),
        (CompareTarget::Mod, _) => store::Target::Mod(0),
        (CompareTarget::Lease, _) => store::Target::Lease(0),
        (CompareTarget::Value, _) => store::Target::Value(Bytes::default()),
    };
    Ok(store::Compare { span: span(asked.key, asked.range_end), relation, target })
}

fn operation(asked: rpc::RequestOp) -> Result<store::Operation, Refusal> {
    use rpc::request_op::Request;
    Ok(match asked.request.ok_or(store::Error::KeyNotFound)? {
        Request::RequestRange(asked) => store::Operation::Range(range(asked)?),
        Request::RequestPut(asked) => store::Operation::Put(put(asked)),
        Request::RequestDeleteRange(asked) => store::Operation::Delete(delete(asked)),
        Request::RequestTxn(asked) => store::Operation::Txn(txn(asked)?),
    })
}

pub(crate) fn kv(kv: &store::KeyValue) -> mvccpb::KeyValue {
    mvccpb::KeyValue {
        key: kv.key.to_vec(),
        create_revision: signed(kv.create_revision),
        mod_revision: signed(kv.mod_revision),
        version: signed(kv.version),
        value: kv.value.to_vec(),
        lease: lease_id(kv.lease),
    }
}

fn kvs(all: &[Arc<store::KeyValue>]) -> Vec<mvccpb::KeyValue> {
    all.iter().map(|it| kv(it)).collect()
}

pub(crate) fn event(event: &store::Event) -> mvccpb::Event {
    use mvccpb::event::EventType;
    let kind = match event.kind {
        store::Kind::Put => EventType::Put,
        store::Kind::Delete => EventType::Delete,
    };
    mvccpb::Event {
        r#type: kind.into(),
        kv: Some(kv(&event.kv)),
        prev_kv: event.prev.as_deref().map(kv),
    }
}

pub(crate) fn found(found: &store::Found) -> rpc::RangeResponse {
    rpc::RangeResponse {
        header: None,
        kvs: kvs(&found.kvs),
        more: found.more,
        count: signed(found.count),
    }
}

pub(crate) fn written(written: &store::Written) -> rpc::PutResponse {
    rpc::PutResponse { header: None, prev_kv: written.prev.as_deref().map(kv) }
}

pub(crate) fn deleted(deleted: &store::Deleted) -> rpc::DeleteRangeResponse {
    rpc::DeleteRangeResponse {
        header: None,
        deleted: signed(deleted.count),
        prev_kvs: kvs(&deleted.prev),
    }
}

pub(crate) fn done(done: &store::Done) -> rpc::TxnResponse {
    rpc::TxnResponse {
        header: None,
        succeeded: done.succeeded,
        responses: done.replies.iter().map(reply).collect(),
    }
}

/// Inside a transaction headers say the revision only, and that of another one not even that.
fn reply(reply: &store::Reply) -> rpc::ResponseOp {
    use rpc::response_op::Response;
    let header =
        |revision| Some(rpc::ResponseHeader { revision: signed(revision), ..Default::default() });
    let response = match reply {
        store::Reply::Range(it) => {
            Response::ResponseRange(rpc::RangeResponse { header: header(it.revision), ..found(it) })
        }
        store::Reply::Put(it) => {
            Response::ResponsePut(rpc::PutResponse { header: header(it.revision), ..written(it) })
        }
        store::Reply::Delete(it) => Response::ResponseDeleteRange(rpc::DeleteRangeResponse {
            header: header(it.revision),
            ..deleted(it)
        }),
        store::Reply::Txn(it) => {
            let header = Some(rpc::ResponseHeader::default());
            Response::ResponseTxn(rpc::TxnResponse { header, ..done(it) })
        }
    };
    rpc::ResponseOp { response: Some(response) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_knows_is_refused_and_not_guessed() {
        let txn_with = |target, result| {
            let compare = vec![rpc::Compare { target, result, ..Default::default() }];
            txn(rpc::TxnRequest { compare, ..Default::default() }).map(|it| it.compare.len())
        };
        assert_eq!(txn_with(4, 3), Ok(1));
        assert_eq!(txn_with(5, 3), Err(Refusal::NO_COMPARISON));
        assert_eq!(txn_with(4, 4), Err(Refusal::NO_COMPARISON));
        let range_by = |sort_order, sort_target| {
            range(rpc::RangeRequest { sort_order, sort_target, ..Default::default() }).err()
        };
        assert_eq!(range_by(2, 4), None);
        assert_eq!(range_by(3, 4), Some(Refusal::NO_ORDER));
        assert_eq!(range_by(2, -1), Some(Refusal::NO_ORDER));
    }
}
