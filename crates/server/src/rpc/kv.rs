//! Keys: reading, writing, transactions.

use hyper::body::Bytes;
use tenure_store::{Access, Answer, Asker, Command, Done, Error, Reading};
use tonic::Response;

use crate::beside::{FEW, looking_at};
use crate::budget::Weighed;
use crate::caller::Caller;
use crate::convert::{delete, deleted, done, found, put, range, txn, unsigned, written};
use crate::errand::Released;
use crate::refusal::Refusal;
use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::etcdserverpb::request_op::Request;

/// How many keys a transaction may look at: all members do so, one after the other, where it
/// writes, and each of its ranges could be all there is.
const MOST: usize = 1 << 20;

pub(crate) async fn read(
    member: Caller,
    asked: rpc::RangeRequest,
) -> Result<Response<Bytes>, Refusal> {
    if asked.key.is_empty() {
        return Err(Error::EmptyKey.into());
    }
    up_to_date(&member, asked.serializable).await?;
    let range = range(asked)?;
    let may = |access: &Access, asker: &Asker| access.may_range(asker, &range);
    let keys = member.look(|state| state.store.looks_at(&range, FEW + 1));
    let _turn = member.turns.looking_at(keys).await?;
    let reading = member.read(may, |store| store.reading(&range))?;
    let (bytes, read) = looking_at(reading.len(), move || weighed(reading.found())).await?;
    let header = member.header(read.revision);
    member.budget.answer(bytes, move || rpc::RangeResponse { header, ..found(&read) }).await
}

/// Waits until a member knows all that anybody was told of before; or, if that is enough, all that
/// it has ever told anybody itself.
async fn up_to_date(member: &Caller, is_serializable: bool) -> Result<(), Refusal> {
    if is_serializable { member.is_back().await } else { member.confirm().await }
}

pub(crate) async fn write(
    member: Caller,
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
    member: Caller,
    asked: rpc::DeleteRangeRequest,
) -> Result<Response<Bytes>, Refusal> {
    released(&asked).map_or(Ok(()), |released| member.release(released))?;
    match member.answer(Command::Delete(delete(asked))).await? {
        (_, Answer::Delete(it)) => {
            let header = member.header(it.revision);
            let bytes = it.weight();
            let make = move || rpc::DeleteRangeResponse { header, ..deleted(&it) };
            member.budget.answer(bytes, make).await
        }
        other => unreachable!("a deletion is answered as one, not by {other:?}"),
    }
}

pub(crate) async fn transact(
    member: Caller,
    asked: rpc::TxnRequest,
) -> Result<Response<Bytes>, Refusal> {
    let is_serializable = is_serializable(&asked);
    let released: Vec<Released> = asked.success.iter().filter_map(released_by).collect();
    let txn = txn(asked)?;
    txn.check(member.plan.bounds.txn_ops)?;
    if txn.is_read_only() {
        up_to_date(&member, is_serializable).await?;
    }
    // Most transactions need not wait for the store to know.
    let keys = match txn.is_of_single_keys() {
        true => 0,
        false => member.look(|state| state.store.txn_looks_at(&txn, MOST + 1)),
    };
    if keys > MOST {
        return Err(Refusal::TOO_MANY_KEYS);
    }
    let _turn = member.turns.looking_at(keys).await?;
    if txn.is_read_only() {
        let may = |access: &Access, asker: &Asker| access.may_transact(asker, &txn);
        let reading = member.read(may, |store| store.reading_txn(&txn))?;
        return transacted(&member, reading).await;
    }
    released.into_iter().try_for_each(|released| member.release(released))?;
    match member.answer(Command::Txn(txn)).await? {
        (_, Answer::Txn(it)) => transacted(&member, it).await,
        other => unreachable!("a transaction is answered as one, not by {other:?}"),
    }
}

/// Whether a transaction wants no more than what this member knows, as for etcd: each of its
/// operations is a range that says so.
fn is_serializable(asked: &rpc::TxnRequest) -> bool {
    let mut all = asked.success.iter().chain(&asked.failure);
    all.all(|op| matches!(&op.request, Some(Request::RequestRange(range)) if range.serializable))
}

/// Whether an operation says that a lock is released.
fn released_by(op: &rpc::RequestOp) -> Option<Released> {
    match &op.request {
        Some(Request::RequestDeleteRange(asked)) => released(asked),
        _ => None,
    }
}

/// The same of a deletion.
fn released(asked: &rpc::DeleteRangeRequest) -> Option<Released> {
    let is_one = asked.released > 0 && asked.range_end.is_empty();
    let key = || tenure_store::Bytes::from(asked.key.as_slice());
    is_one.then(|| Released { key: key(), fence: unsigned(asked.released) })
}

/// With how many bytes it has, which takes as long as to look at all of it.
fn weighed<T: Weighed>(it: T) -> (usize, T) {
    (it.weight(), it)
}

async fn transacted(member: &Caller, read: Done<Reading>) -> Result<Response<Bytes>, Refusal> {
    let (bytes, it) = looking_at(read.len(), move || weighed(read.found())).await?;
    let header = member.header(it.revision);
    member.budget.answer(bytes, move || rpc::TxnResponse { header, ..done(&it) }).await
}

pub(crate) async fn compact(
    member: Caller,
    asked: rpc::CompactionRequest,
) -> Result<rpc::CompactionResponse, Refusal> {
    // It takes history away from all watchers.
    member.may_all()?;
    let revision = unsigned(asked.revision);
    let (revision, _) = member.answer(Command::Compact { revision }).await?;
    Ok(rpc::CompactionResponse { header: member.header(revision) })
}
