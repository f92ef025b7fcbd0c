//! Elections that the server queues for.

use std::sync::Arc;

use tenure_store::{
    Answer, Bytes, Command, Compare, Delete, Enqueue, KeyValue, Operation, Put, Range, Relation,
    Share, SortOrder, SortTarget, Span, Store, Target, Txn,
};

use crate::caller::Caller;
use crate::convert::{self, lease, lease_id, signed};
use crate::refusal::Refusal;
use crate::rpc::lease::given_or_hidden;
use crate::rpc::lock::enter;
use tenure_etcd::v3electionpb as rpc;

pub(crate) async fn campaign(
    member: Caller,
    asked: rpc::CampaignRequest,
) -> Result<rpc::CampaignResponse, Refusal> {
    let lease = given_or_hidden(&member, asked.lease).await.map_err(Refusal::into_unknown)?;
    let (name, value) = (Bytes::from(asked.name), Bytes::from(asked.value));
    let enqueue = Enqueue { name: name.clone(), lease, share: Share::Exclusive, value };
    let (claim, revision) = enter(&member, enqueue, Refusal::CANDIDATE_OVER).await?;
    let leader = rpc::LeaderKey {
        name: name.to_vec(),
        key: claim.key.to_vec(),
        rev: signed(claim.fence),
        lease: lease_id(lease),
    };
    Ok(rpc::CampaignResponse { header: member.header(revision), leader: Some(leader) })
}

pub(crate) async fn proclaim(
    member: Caller,
    asked: rpc::ProclaimRequest,
) -> Result<rpc::ProclaimResponse, Refusal> {
    let leader = asked.leader.ok_or(Refusal::LEADER_MISSING)?;
    let key = Bytes::from(leader.key);
    // No key that is there was created in such a revision.
    if leader.rev <= 0 {
        return Err(Refusal::NOT_LEADER);
    }
    let put = Put {
        key: key.clone(),
        value: Bytes::from(asked.value),
        lease: lease(leader.lease),
        // Who does not say with which lease it leads does so with the one that it has.
        ignore_lease: leader.lease == 0,
        ..Put::default()
    };
    let (revision, succeeded) = if_leading(&member, key, leader.rev, Operation::Put(put)).await?;
    if !succeeded {
        return Err(Refusal::NOT_LEADER);
    }
    Ok(rpc::ProclaimResponse { header: member.header(revision) })
}

/// Whoever does not lead any more has nothing to give up, and is told so by nothing.
pub(crate) async fn resign(
    member: Caller,
    asked: rpc::ResignRequest,
) -> Result<rpc::ResignResponse, Refusal> {
    let leader = asked.leader.ok_or(Refusal::LEADER_MISSING)?;
    let key = Bytes::from(leader.key);
    let delete = Delete { span: Span::one(key.clone()), prev_kv: false };
    let (revision, _) = if_leading(&member, key, leader.rev, Operation::Delete(delete)).await?;
    Ok(rpc::ResignResponse { header: member.header(revision) })
}

async fn if_leading(
    member: &Caller,
    key: Bytes,
    revision: i64,
    operation: Operation,
) -> Result<(u64, bool), Refusal> {
    let (relation, target) = (Relation::Equal, Target::Create(revision));
    let compare = vec![Compare { span: Span::one(key), relation, target }];
    let txn = Txn { compare, success: vec![operation], failure: Vec::new() };
    match member.answer(Command::Txn(txn)).await.map_err(Refusal::into_unknown)? {
        (revision, Answer::Txn(done)) => Ok((revision, done.succeeded)),
        other => unreachable!("a transaction is answered as one, not by {other:?}"),
    }
}

pub(crate) async fn leader(
    member: Caller,
    asked: rpc::LeaderRequest,
) -> Result<rpc::LeaderResponse, Refusal> {
    member.confirm().await?;
    let name = Bytes::from(asked.name);
    member.may(|access, asker| access.may_read(asker, &below(&name)))?;
    let (revision, kv) = member.look(|state| (state.store.revision(), head(&state.store, &name)));
    let kv = kv.ok_or(Refusal::VACANT)?;
    Ok(rpc::LeaderResponse { header: member.header(revision), kv: Some(convert::kv(&kv)) })
}

/// The first key of an election.
pub(crate) fn head(store: &Store, name: &Bytes) -> Option<Arc<KeyValue>> {
    let range = Range {
        limit: 1,
        order: SortOrder::Ascend,
        target: SortTarget::Create,
        ..Range::of(below(name))
    };
    store.range(&range).ok()?.kvs.into_iter().next()
}

/// The keys of all who stand for an election.
pub(crate) fn below(name: &Bytes) -> Span {
    Span::prefix([name, b"/".as_slice()].concat())
}
