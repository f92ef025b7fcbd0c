//! Election service: clients campaign, and the server queues the candidates.

use std::sync::Arc;

use tenure_store::{
    AccessControl, AcquireLock, Bytes, CollectedRead, CommandResult, Delete, KeySpan, KeyValue,
    LockMode, Principal, Put, RangeRead, SortOrder, SortTarget, TxnOperation,
};
use tonic::Response;

use crate::auth::caller::Caller;
use crate::rpc::convert::{self, lease_from_wire, lease_to_wire, signed};
use crate::rpc::error::RpcError;
use crate::rpc::lease::requested_or_new_lease;
use crate::rpc::lock::{acquire, txn_if_created_at};
use crate::rpc::scan::scan_range;
use tenure_etcd::v3electionpb as rpc;

pub(crate) async fn campaign(
    caller: Caller,
    request: rpc::CampaignRequest,
) -> Result<rpc::CampaignResponse, RpcError> {
    let lease = requested_or_new_lease(&caller, request.lease)
        .await
        .map_err(RpcError::with_unknown_code)?;
    let (name, value) = (Bytes::from(request.name), Bytes::from(request.value));
    let enqueue = AcquireLock { name: name.clone(), lease, mode: LockMode::Exclusive, value };
    let (claim, revision) = acquire(&caller, enqueue, RpcError::ELECTION_SESSION_EXPIRED).await?;
    let leader = rpc::LeaderKey {
        name: name.to_vec(),
        key: claim.key.to_vec(),
        rev: signed(claim.fence),
        lease: lease_to_wire(lease),
    };
    Ok(rpc::CampaignResponse { header: caller.response_header(revision), leader: Some(leader) })
}

pub(crate) async fn proclaim(
    caller: Caller,
    request: rpc::ProclaimRequest,
) -> Result<rpc::ProclaimResponse, RpcError> {
    let leader = request.leader.ok_or(RpcError::LEADER_KEY_MISSING)?;
    let key = Bytes::from(leader.key);
    // No key has such a creation revision.
    if leader.rev <= 0 {
        return Err(RpcError::NOT_ELECTION_LEADER);
    }
    let put = Put {
        key: key.clone(),
        value: Bytes::from(request.value),
        lease: lease_from_wire(leader.lease),
        // Without a lease in the request, the key keeps its lease.
        ignore_lease: leader.lease == 0,
        ..Put::default()
    };
    let (revision, succeeded) =
        txn_if_leader(&caller, key, leader.rev, TxnOperation::Put(put)).await?;
    if !succeeded {
        return Err(RpcError::NOT_ELECTION_LEADER);
    }
    Ok(rpc::ProclaimResponse { header: caller.response_header(revision) })
}

/// Deletes the key that the request names, which is normally the key of the leader. If this key
/// does not exist, or was created in another revision than the request states, succeeds and changes
/// nothing, as etcd does.
pub(crate) async fn resign(
    caller: Caller,
    request: rpc::ResignRequest,
) -> Result<rpc::ResignResponse, RpcError> {
    let leader = request.leader.ok_or(RpcError::LEADER_KEY_MISSING)?;
    let key = Bytes::from(leader.key);
    let delete = Delete { span: KeySpan::single(key.clone()), prev_kv: false };
    let (revision, _) =
        txn_if_leader(&caller, key, leader.rev, TxnOperation::Delete(delete)).await?;
    Ok(rpc::ResignResponse { header: caller.response_header(revision) })
}

/// Runs `operation` if `key` was created in the revision `revision`. Returns the revision of the
/// store afterwards, and true if the operation was run.
async fn txn_if_leader(
    caller: &Caller,
    key: Bytes,
    revision: i64,
    operation: TxnOperation,
) -> Result<(u64, bool), RpcError> {
    let command = txn_if_created_at(&key, revision, operation);
    match caller.execute(command).await.map_err(RpcError::with_unknown_code)? {
        (revision, CommandResult::Txn(done)) => Ok((revision, done.succeeded)),
        other => unreachable!("unexpected result of a transaction: {other:?}"),
    }
}

pub(crate) async fn leader(
    caller: Caller,
    request: rpc::LeaderRequest,
) -> Result<Response<hyper::body::Bytes>, RpcError> {
    caller.wait_linearizable().await?;
    let (revision, kv) = current_leader(&caller, &Bytes::from(request.name)).await?;
    let kv = kv.ok_or(RpcError::NO_ELECTION_LEADER)?;
    let header = caller.response_header(revision);
    let bytes = kv.size();
    let make = move || rpc::LeaderResponse { header, kv: Some(convert::kv(&kv)) };
    caller.response_budget.encode_within_budget(bytes, make).await
}

/// Returns the revision of the store, and the key-value pair of the leader at this revision. The
/// leader is the oldest candidate; `None` if there is no candidate. Fails if the caller may not
/// read the election.
///
/// The store reads the leader from the queue of the election. If there is no queue, because no
/// candidate is a claim, the read scans all keys of the election.
pub(crate) async fn current_leader(
    caller: &Caller,
    name: &Bytes,
) -> Result<(u64, Option<Arc<KeyValue>>), RpcError> {
    let range = RangeRead {
        limit: 1,
        order: SortOrder::Ascend,
        target: SortTarget::Create,
        ..RangeRead::at_current_revision(candidate_span(name))
    };
    let check =
        |access: &AccessControl, principal: &Principal| access.authorize_range(principal, &range);
    let (read, _) = scan_range(caller, &range, check, CollectedRead::finish).await?;
    Ok((read.revision, read.kvs.into_iter().next()))
}

/// Returns the span of the keys of an election's candidates.
pub(crate) fn candidate_span(name: &Bytes) -> KeySpan {
    KeySpan::prefix([name, b"/".as_slice()].concat())
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tenure_etcd::etcdserverpb::HashKvRequest;
    use tenure_store::{Command, Error, Txn};

    use super::*;
    use crate::auth::caller::tests::member_with_users;
    use crate::blocking::MAX_INLINE_SCAN_KEYS;
    use crate::rpc::maintenance::hash_kv;

    /// Keys that are no claims have no queue, so the read of the leader scans all of them.
    #[tokio::test]
    async fn scans_of_many_keys_need_a_permit() {
        let (_folder, member) = member_with_users("secret").await;
        let put = |number: usize| {
            let key = format!("e/{number:06}x").as_str().into();
            TxnOperation::Put(Put { key, ..Put::default() })
        };
        let success = (0..=MAX_INLINE_SCAN_KEYS).map(put).collect();
        let written = member.propose(Command::Txn(Txn { success, ..Txn::default() })).await;
        assert!(written.expect("an outcome").result.is_ok());
        let caller = |principal| Caller::new(member.clone(), principal);
        let root = || caller(Principal::User("root".into()));
        let request = || rpc::LeaderRequest { name: b"e".to_vec() };
        let (_, found) = current_leader(&root(), &"e".into()).await.expect("a leader");
        assert_eq!(found.map(|kv| kv.key.clone()), Some("e/000000x".into()));
        let mut permits = Vec::new();
        while let Some(permit) = member.scan_limit.acquire().now_or_never() {
            permits.push(permit.expect("a permit"));
        }
        let hash = HashKvRequest::default;
        let (read, hashed) = tokio::join!(leader(root(), request()), hash_kv(root(), hash()));
        assert_eq!(read.err(), Some(RpcError::TOO_MANY_REQUESTS));
        assert_eq!(hashed.err(), Some(RpcError::TOO_MANY_REQUESTS));
        // Unauthenticated requests do not even wait for a permit.
        let rejected = Some(RpcError::from(Error::UserEmpty));
        assert_eq!(leader(caller(Principal::Anonymous), request()).await.err(), rejected);
        assert_eq!(hash_kv(caller(Principal::Anonymous), hash()).await.err(), rejected);
    }
}
