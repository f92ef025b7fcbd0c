//! Service `KV`: reads, writes and transactions.

use hyper::body::Bytes;
use tenure_session::parse_claim_name;
use tenure_store::{
    AccessControl, CollectedRead, Command, CommandResult, Error, Principal, Txn, TxnResult,
};
use tokio::sync::SemaphorePermit;
use tonic::Response;
use tracing::field::display;
use tracing::info;

use crate::auth::caller::Caller;
use crate::blocking::{MAX_INLINE_SCAN_KEYS, run_scan};
use crate::log::request::ReleasedLock;
use crate::net::response_budget::{CommittedWrite, ResponseSize};
use crate::rpc::convert::{
    delete, delete_response, put, put_response, range, range_response, txn, txn_response,
    unsigned_or_zero,
};
use crate::rpc::error::RpcError;
use crate::rpc::scan::scan_range;
use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::etcdserverpb::compare::CompareTarget;
use tenure_etcd::etcdserverpb::request_op::Request;

/// Upper bound on the keys that one transaction scans. A transaction has many ranges, and each of
/// them could include all keys.
const MAX_TXN_KEYS: usize = 1 << 20;

pub(crate) async fn read(
    caller: Caller,
    request: rpc::RangeRequest,
) -> Result<Response<Bytes>, RpcError> {
    if request.key.is_empty() {
        return Err(Error::EmptyKey.into());
    }
    wait_readable(&caller, request.serializable).await?;
    let range = range(request)?;
    let check =
        |access: &AccessControl, principal: &Principal| access.authorize_range(principal, &range);
    let finish = |read: CollectedRead| with_size(read.finish());
    let ((bytes, read), _) = scan_range(&caller, &range, check, finish).await?;
    let header = caller.response_header(read.revision);
    caller
        .response_budget
        .encode_within_budget(bytes, move || rpc::RangeResponse { header, ..range_response(&read) })
        .await
}

/// Waits until this member may serve a read. A serializable read waits until the member has
/// recovered. Any other read waits until the member has applied all entries that were committed
/// when the read began.
async fn wait_readable(caller: &Caller, is_serializable: bool) -> Result<(), RpcError> {
    if is_serializable { caller.wait_recovered().await } else { caller.wait_linearizable().await }
}

pub(crate) async fn put_key(
    caller: Caller,
    request: rpc::PutRequest,
) -> Result<Response<Bytes>, RpcError> {
    let _undecided = caller.track_undecided_request();
    match caller.execute(Command::Put(put(request))).await? {
        (_, CommandResult::Put(it)) => {
            let header = caller.response_header(it.revision);
            let bytes = it.response_size();
            let make = move || rpc::PutResponse { header, ..put_response(&it) };
            committed(caller.response_budget.encode_within_budget(bytes, make).await)
        }
        other => unreachable!("unexpected result of a put: {other:?}"),
    }
}

pub(crate) async fn delete_range(
    caller: Caller,
    request: rpc::DeleteRangeRequest,
) -> Result<Response<Bytes>, RpcError> {
    released(&request).map_or(Ok(()), |released| caller.notify_waiters_of_release(released))?;
    let _undecided = caller.track_undecided_request();
    match caller.execute(Command::Delete(delete(request))).await? {
        (_, CommandResult::Delete(it)) => {
            let header = caller.response_header(it.revision);
            let bytes = it.response_size();
            let make = move || rpc::DeleteRangeResponse { header, ..delete_response(&it) };
            committed(caller.response_budget.encode_within_budget(bytes, make).await)
        }
        other => unreachable!("unexpected result of a deletion: {other:?}"),
    }
}

pub(crate) async fn transact(
    caller: Caller,
    request: rpc::TxnRequest,
) -> Result<Response<Bytes>, RpcError> {
    let is_serializable = is_serializable(&request);
    let released: Vec<ReleasedLock> = request.success.iter().filter_map(released_by).collect();
    let change = ClaimChange::find(&caller, &request);
    let txn = txn(request)?;
    txn.validate(caller.config.limits.max_txn_ops)?;
    if txn.is_read_only() {
        wait_readable(&caller, is_serializable).await?;
    }
    // The member counts keys while its state is locked. It must not do this for an unauthenticated
    // caller.
    caller.recheck_identity()?;
    let _permit = admit_txn_scan(&caller, &txn).await?;
    if txn.is_read_only() {
        let check =
            |access: &AccessControl, principal: &Principal| access.authorize_txn(principal, &txn);
        let reading = caller.check_and_read(check, |store| store.collect_read_only_txn(&txn))?;
        return respond_txn(&caller, reading).await;
    }
    released.into_iter().try_for_each(|released| caller.notify_waiters_of_release(released))?;
    let _undecided = caller.track_undecided_request();
    match caller.execute(Command::Txn(txn)).await? {
        (_, CommandResult::Txn(it)) => {
            if let Some(change) = change.filter(|_| it.succeeded) {
                change.log(&caller);
            }
            committed(respond_txn(&caller, it).await)
        }
        other => unreachable!("unexpected result of a transaction: {other:?}"),
    }
}

/// Waits for a permit to run the reads and comparisons of a transaction. Returns `None` if the
/// transaction needs no permit. Fails with [`RpcError::TOO_MANY_KEYS`] if it scans more than
/// [`MAX_TXN_KEYS`] keys.
async fn admit_txn_scan<'a>(
    caller: &'a Caller,
    txn: &Txn,
) -> Result<Option<SemaphorePermit<'a>>, RpcError> {
    // Most transactions access single keys, which are not counted.
    if txn.reads_single_keys_only() {
        return Ok(None);
    }
    let count = |max| caller.with_state(|state| state.store.txn_scan_cost(txn, max));
    let permit = caller.scan_limit.acquire_for_scan(count(MAX_INLINE_SCAN_KEYS + 1)).await?;
    // The count of many keys keeps the state locked, so it needs the permit, too.
    if permit.is_some() && count(MAX_TXN_KEYS + 1) > MAX_TXN_KEYS {
        return Err(RpcError::TOO_MANY_KEYS);
    }
    Ok(permit)
}

/// Returns true if a transaction is serializable. As in etcd, this is the case if each operation of
/// both branches is a serializable range request.
fn is_serializable(request: &rpc::TxnRequest) -> bool {
    let mut all = request.success.iter().chain(&request.failure);
    all.all(|op| matches!(&op.request, Some(Request::RequestRange(range)) if range.serializable))
}

/// Change of the claim of another client, as `tenure locks break` requests it.
#[derive(Debug)]
enum ClaimChange {
    /// The holder of the claim with this key is asked to release its lock.
    ReleaseRequest(String),
    /// The claim with this key is deleted, and its lease stays.
    Deletion(String),
}

impl ClaimChange {
    /// Returns the change of another client's claim that a transaction makes, or `None` for any
    /// other transaction.
    ///
    /// A request to release a lock puts a new value with `ignore_lease`. A client that changes the
    /// value of its own claim names the lease instead. A deletion compares the creation revision of
    /// the key that it deletes. Clients of Tenure do not compare this revision when they delete
    /// their own claims. `Election.Resign` of etcd's client in Go does, so it is treated as the
    /// deletion of another client's claim.
    fn find(caller: &Caller, request: &rpc::TxnRequest) -> Option<ClaimChange> {
        let [rpc::RequestOp { request: Some(op) }] = &request.success[..] else {
            return None;
        };
        match op {
            Request::RequestPut(put) if put.ignore_lease && !put.ignore_value => {
                claim_key(caller, &put.key).map(ClaimChange::ReleaseRequest)
            }
            Request::RequestDeleteRange(delete)
                if delete.range_end.is_empty() && compares_creation(request, &delete.key) =>
            {
                claim_key(caller, &delete.key).map(ClaimChange::Deletion)
            }
            _ => None,
        }
    }

    fn log(self, caller: &Caller) {
        let (client, user) = (caller.client_address().map(display), caller.initial_user_name());
        match self {
            ClaimChange::ReleaseRequest(claim) => {
                info!(client, user, claim, "holder asked to release its claim");
            }
            ClaimChange::Deletion(claim) => info!(client, user, claim, "claim deleted"),
        }
    }
}

/// Returns true if the only comparison of a transaction concerns the creation revision of this key.
fn compares_creation(request: &rpc::TxnRequest, key: &[u8]) -> bool {
    matches!(&request.compare[..], [it] if it.key == key && it.target() == CompareTarget::Create)
}

/// Returns a key as text if it is the key of an existing claim. Returns `None` otherwise.
fn claim_key(caller: &Caller, key: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(key).ok()?;
    let (lease, _) = parse_claim_name(text.rsplit_once('/')?.1)?;
    // Keys that are not claims may have the same form.
    let is_claim =
        caller.with_state(|state| state.store.get(key).is_some_and(|found| found.lease == lease));
    is_claim.then(|| text.to_owned())
}

fn released_by(op: &rpc::RequestOp) -> Option<ReleasedLock> {
    match &op.request {
        Some(Request::RequestDeleteRange(request)) => released(request),
        _ => None,
    }
}

/// Returns the lock that a deletion releases, if the client has marked the deletion as a release.
fn released(request: &rpc::DeleteRangeRequest) -> Option<ReleasedLock> {
    let is_one = request.released > 0 && request.range_end.is_empty();
    let key = || tenure_store::Bytes::from(request.key.as_slice());
    is_one.then(|| ReleasedLock { key: key(), fence: unsigned_or_zero(request.released) })
}

/// Returns a response with its size. The caller must call this function in the same task as the
/// scan of the keys, because the computation of the size is as expensive as the scan.
fn with_size<T: ResponseSize>(it: T) -> (usize, T) {
    (it.response_size(), it)
}

async fn respond_txn(
    caller: &Caller,
    read: TxnResult<CollectedRead>,
) -> Result<Response<Bytes>, RpcError> {
    let (bytes, it) =
        run_scan(read.unprocessed_item_count(), move || with_size(read.finish())).await?;
    let header = caller.response_header(it.revision);
    caller
        .response_budget
        .encode_within_budget(bytes, move || rpc::TxnResponse { header, ..txn_response(&it) })
        .await
}

/// Marks the response to a command that was executed. If there is no response, because it is too
/// large or the server is busy, returns [`RpcError::TIMED_OUT`], the error of a request with an
/// unknown outcome. Any other error would state that the client can safely repeat the request.
fn committed(response: Result<Response<Bytes>, RpcError>) -> Result<Response<Bytes>, RpcError> {
    let mut response = response.map_err(|_| RpcError::TIMED_OUT)?;
    response.extensions_mut().insert(CommittedWrite);
    Ok(response)
}

pub(crate) async fn compact(
    caller: Caller,
    request: rpc::CompactionRequest,
) -> Result<rpc::CompactionResponse, RpcError> {
    // Only root may compact the store, because compaction removes the history of all watchers.
    caller.check_root()?;
    let revision = unsigned_or_zero(request.revision);
    let (revision, _) = caller.execute(Command::Compact { revision }).await?;
    Ok(rpc::CompactionResponse { header: caller.response_header(revision) })
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tenure_store::{Put, TxnOperation};

    use super::*;
    use crate::auth::caller::tests::member_with_users;

    #[tokio::test]
    async fn unauthenticated_requests_scan_no_keys() {
        let (_folder, member) = member_with_users("secret").await;
        let put = |number: usize| {
            let key = format!("{number:06}").as_str().into();
            TxnOperation::Put(Put { key, ..Put::default() })
        };
        let success = (0..=MAX_INLINE_SCAN_KEYS).map(put).collect();
        let written = member.propose(Command::Txn(Txn { success, ..Txn::default() })).await;
        assert!(written.expect("an outcome").result.is_ok());
        // A scan of these keys waits for a permit.
        let mut permits = Vec::new();
        while let Some(permit) = member.scan_limit.acquire().now_or_never() {
            permits.push(permit.expect("a permit"));
        }
        let caller = || Caller::new(member.clone(), Principal::Anonymous);
        let range = rpc::RangeRequest {
            key: b"0".to_vec(),
            range_end: b"1".to_vec(),
            serializable: true,
            ..rpc::RangeRequest::default()
        };
        let put = rpc::PutRequest { key: b"a".to_vec(), ..rpc::PutRequest::default() };
        let operations = [Request::RequestRange(range.clone()), Request::RequestPut(put)];
        let success =
            operations.map(|it| rpc::RequestOp { request: Some(it) }).into_iter().collect();
        let txn = rpc::TxnRequest { success, ..rpc::TxnRequest::default() };
        let rejected = Some(RpcError::from(Error::UserEmpty));
        assert_eq!(transact(caller(), txn).await.err(), rejected);
        assert_eq!(read(caller(), range).await.err(), rejected);
    }
}
