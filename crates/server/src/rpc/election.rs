//! Election service: clients campaign, and the server queues the candidates.

use std::sync::Arc;

use tenure_store::{
    Bytes, CommandResult, Delete, Enqueue, KeySpan, KeyValue, LockMode, Put, Range, SortOrder,
    SortTarget, Store, TxnOperation,
};

use crate::auth::caller::Caller;
use crate::rpc::convert::{self, lease_from_wire, lease_to_wire, signed};
use crate::rpc::error::RpcError;
use crate::rpc::lease::lease_or_grant;
use crate::rpc::lock::{acquire, txn_if_created_at};
use tenure_etcd::v3electionpb as rpc;

pub(crate) async fn campaign(
    caller: Caller,
    request: rpc::CampaignRequest,
) -> Result<rpc::CampaignResponse, RpcError> {
    let lease =
        lease_or_grant(&caller, request.lease).await.map_err(RpcError::with_unknown_code)?;
    let (name, value) = (Bytes::from(request.name), Bytes::from(request.value));
    let enqueue = Enqueue { name: name.clone(), lease, mode: LockMode::Exclusive, value };
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

/// Deletes the key of the leader. If the request names a client that is not the leader, succeeds
/// and changes nothing, as etcd does.
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
) -> Result<rpc::LeaderResponse, RpcError> {
    caller.wait_linearizable().await?;
    let name = Bytes::from(request.name);
    caller.check_access(|access, principal| {
        access.authorize_read(principal, &candidate_span(&name))
    })?;
    let (revision, kv) =
        caller.with_state(|state| (state.store.revision(), current_leader(&state.store, &name)));
    let kv = kv.ok_or(RpcError::NO_ELECTION_LEADER)?;
    Ok(rpc::LeaderResponse { header: caller.response_header(revision), kv: Some(convert::kv(&kv)) })
}

/// Returns the key-value pair of the leader. The leader is the oldest candidate.
pub(crate) fn current_leader(store: &Store, name: &Bytes) -> Option<Arc<KeyValue>> {
    let range = Range {
        limit: 1,
        order: SortOrder::Ascend,
        target: SortTarget::Create,
        ..Range::of(candidate_span(name))
    };
    store.range(&range).ok()?.kvs.into_iter().next()
}

/// Returns the range of the keys of an election's candidates.
pub(crate) fn candidate_span(name: &Bytes) -> KeySpan {
    KeySpan::prefix([name, b"/".as_slice()].concat())
}
