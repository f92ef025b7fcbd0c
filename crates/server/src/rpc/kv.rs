//! Keys: reading, writing, transactions.

use std::sync::Arc;

use tenure_store::{Answer, Command, Error};

use crate::convert::{delete, deleted, done, found, put, range, txn, unsigned, written};
use crate::member::Member;
use crate::refusal::Refusal;
use tenure_etcd::etcdserverpb as rpc;

pub(crate) async fn read(
    member: Arc<Member>,
    asked: rpc::RangeRequest,
) -> Result<rpc::RangeResponse, Refusal> {
    if asked.key.is_empty() {
        return Err(Error::EmptyKey.into());
    }
    if !asked.serializable {
        member.confirm().await?;
    }
    let range = range(asked);
    let read = member.look(|state| state.store.range(&range))?;
    Ok(rpc::RangeResponse { header: member.header(read.revision), ..found(&read) })
}

pub(crate) async fn write(
    member: Arc<Member>,
    asked: rpc::PutRequest,
) -> Result<rpc::PutResponse, Refusal> {
    match member.answer(Command::Put(put(asked))).await? {
        (_, Answer::Put(it)) => {
            Ok(rpc::PutResponse { header: member.header(it.revision), ..written(&it) })
        }
        other => unreachable!("a put is answered as one, not by {other:?}"),
    }
}

pub(crate) async fn remove(
    member: Arc<Member>,
    asked: rpc::DeleteRangeRequest,
) -> Result<rpc::DeleteRangeResponse, Refusal> {
    match member.answer(Command::Delete(delete(asked))).await? {
        (_, Answer::Delete(it)) => {
            Ok(rpc::DeleteRangeResponse { header: member.header(it.revision), ..deleted(&it) })
        }
        other => unreachable!("a deletion is answered as one, not by {other:?}"),
    }
}

pub(crate) async fn transact(
    member: Arc<Member>,
    asked: rpc::TxnRequest,
) -> Result<rpc::TxnResponse, Refusal> {
    let txn = txn(asked);
    if txn.is_read_only() {
        member.confirm().await?;
        let it = member.look(|state| state.store.read_txn(&txn))?;
        return Ok(rpc::TxnResponse { header: member.header(it.revision), ..done(&it) });
    }
    match member.answer(Command::Txn(txn)).await? {
        (_, Answer::Txn(it)) => {
            Ok(rpc::TxnResponse { header: member.header(it.revision), ..done(&it) })
        }
        other => unreachable!("a transaction is answered as one, not by {other:?}"),
    }
}

pub(crate) async fn compact(
    member: Arc<Member>,
    asked: rpc::CompactionRequest,
) -> Result<rpc::CompactionResponse, Refusal> {
    let revision = unsigned(asked.revision);
    let (revision, _) = member.answer(Command::Compact { revision }).await?;
    Ok(rpc::CompactionResponse { header: member.header(revision) })
}
