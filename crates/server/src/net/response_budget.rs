//! Bounds the memory of responses that clients have not received yet.
//!
//! A large response holds a share of one budget for all clients. The server sends the response in
//! chunks. If the client stops reading, the server drops the rest of the response.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::Response;
use hyper::body::{Bytes, Frame};
use prost::Message;
use tenure_etcd::frames;
use tenure_store::{DeleteResult, KeyValue, PutResult, RangeResult, TxnOperationResult, TxnResult};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::Status;
use tonic::body::Body;

use crate::blocking::{ConcurrencyLimit, run_blocking};
use crate::rpc::error::RpcError;

/// Upper bound on the bytes of keys and values in one response.
const MAX_RESPONSE_BYTES: usize = 64 << 20;

/// Upper bound on the bytes of all large responses that are not sent yet.
const MAX_BUFFERED_BYTES: usize = 256 << 20;

/// Bytes that are reserved for a response of unknown length until it is encoded.
const MAX_RESERVED_BYTES: usize = MAX_BUFFERED_BYTES / 2;

/// Size of the largest response that holds no share of the budget, in bytes. The budget does not
/// count such small responses.
pub(crate) const SMALL_RESPONSE_BYTES: usize = 64 << 10;

const UNIT_BYTES: usize = 1 << 10;

const CHUNK_BYTES: usize = 64 << 10;

/// Longest time for which a response waits for a share of the budget.
const RESERVE_TIMEOUT: Duration = Duration::from_secs(5);

/// Interval at which the server checks whether the client reads a response. If the client has read
/// nothing since the last check, the rest of the response is dropped.
const STALL_TIMEOUT: Duration = Duration::from_secs(10);

/// Budget of memory for the unsent large responses to all clients.
#[derive(Debug)]
pub(crate) struct ResponseBudget {
    units: Arc<Semaphore>,
    /// Limit of the number of large responses that are converted to JSON at the same time. The JSON
    /// text takes as much memory as the message.
    pub(crate) json_conversion_limit: ConcurrencyLimit,
    /// Number of responses that were dropped because the client stopped reading.
    dropped: Arc<AtomicU64>,
}

impl Default for ResponseBudget {
    fn default() -> Self {
        let (units, json_conversion_limit) =
            (Arc::new(Semaphore::new(MAX_BUFFERED_BYTES / UNIT_BYTES)), ConcurrencyLimit::new(1));
        ResponseBudget { units, json_conversion_limit, dropped: Arc::default() }
    }
}

/// Part of the response budget that one response holds. The part returns to the budget when the
/// last clone of this value is dropped.
#[derive(Clone, Debug)]
pub(crate) struct ResponseBudgetShare {
    _units: Arc<OwnedSemaphorePermit>,
    dropped: Arc<AtomicU64>,
}

/// Mark of the response to a write that was executed. If the server cannot deliver this response,
/// the error that it sends instead must not state that the write had no effect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommittedWrite;

impl ResponseBudget {
    /// Waits until the budget has room for a response of `response_bytes` bytes. Then calls `make`,
    /// encodes the response that `make` returns, and returns the encoded response. A response of at
    /// most [`SMALL_RESPONSE_BYTES`] bytes needs no room in the budget.
    ///
    /// # Errors
    ///
    /// [`RpcError::RESPONSE_TOO_LARGE`] if the response is longer than 64 MiB, or
    /// [`RpcError::TOO_MANY_REQUESTS`] if the budget has no room for it within 5 s.
    pub(crate) async fn encode_within_budget<T: Message>(
        &self,
        response_bytes: usize,
        make: impl FnOnce() -> T + Send + 'static,
    ) -> Result<tonic::Response<Bytes>, RpcError> {
        if response_bytes <= SMALL_RESPONSE_BYTES {
            return Ok(tonic::Response::new(frames::encode(&make())));
        }
        if response_bytes > MAX_RESPONSE_BYTES {
            return Err(RpcError::RESPONSE_TOO_LARGE);
        }
        let units = self.reserve(response_bytes).await?;
        let made = run_blocking(move || frames::encode(&make())).await?;
        Ok(self.with_share(made, units))
    }

    /// Reserves [`MAX_RESERVED_BYTES`] of the budget. If the budget has too little room, waits for
    /// at most 5 s. Then calls `make`, which returns a pair: the length of the response in bytes,
    /// and the response. If the response is shorter than the reservation, frees the reserved bytes
    /// that exceed this length.
    ///
    /// # Errors
    ///
    /// [`RpcError::TOO_MANY_REQUESTS`] if the budget has no room in time, or the error of `make`.
    pub(crate) async fn make_of_unknown_size<T>(
        &self,
        make: impl AsyncFnOnce() -> Result<(usize, T), RpcError>,
    ) -> Result<tonic::Response<T>, RpcError> {
        let mut units = self.reserve(MAX_RESERVED_BYTES).await?;
        let (bytes, made) = make().await?;
        let counted = units.split(bytes.div_ceil(UNIT_BYTES)).unwrap_or(units);
        Ok(self.with_share(made, counted))
    }

    async fn reserve(&self, bytes: usize) -> Result<OwnedSemaphorePermit, RpcError> {
        let units = u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX);
        let units = self.units.clone().acquire_many_owned(units);
        let units = tokio::time::timeout(RESERVE_TIMEOUT, units)
            .await
            .map_err(|_| RpcError::TOO_MANY_REQUESTS)?;
        units.map_err(|_| RpcError::STOPPED)
    }

    fn with_share<T>(&self, made: T, units: OwnedSemaphorePermit) -> tonic::Response<T> {
        let mut response = tonic::Response::new(made);
        let share = ResponseBudgetShare { _units: Arc::new(units), dropped: self.dropped.clone() };
        response.extensions_mut().insert(share);
        response
    }

    /// Returns the number of bytes of the budget that unsent responses use now.
    pub(crate) fn used_bytes(&self) -> usize {
        MAX_BUFFERED_BYTES - self.units.available_permits() * UNIT_BYTES
    }

    pub(crate) fn dropped_responses(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

/// Moves the budget share of a response into its body. The budget gets the share back when the body
/// is sent or dropped. Returns a response without a share unchanged.
pub(crate) fn move_share_to_body(response: Response<Body>) -> Response<Body> {
    // The share also stays in the extensions, from which the gateway moves it to its JSON response.
    let Some(share) = response.extensions().get::<ResponseBudgetShare>().cloned() else {
        return response;
    };
    response.map(|body| {
        let unsent = UnsentBody { body, chunk: Bytes::new(), chunks_taken: 0, share };
        let unsent = Arc::new(Mutex::new(Some(unsent)));
        tokio::spawn(drop_if_stalled(Arc::downgrade(&unsent)));
        Body::new(MeteredResponse(unsent))
    })
}

struct UnsentBody {
    body: Body,
    chunk: Bytes,
    chunks_taken: u64,
    share: ResponseBudgetShare,
}

/// Body of a response. A timer drops the body if the client stops reading it.
struct MeteredResponse(Arc<Mutex<Option<UnsentBody>>>);

impl http_body::Body for MeteredResponse {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(unsent) = held.as_mut() else {
            return Poll::Ready(Some(Err(RpcError::RESPONSE_STALLED.into())));
        };
        unsent.chunks_taken += 1;
        if unsent.chunk.is_empty() {
            match ready!(Pin::new(&mut unsent.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => unsent.chunk = data,
                    Err(frame) => return Poll::Ready(Some(Ok(frame))),
                },
                end => return Poll::Ready(end),
            }
        }
        let chunk = unsent.chunk.split_to(unsent.chunk.len().min(CHUNK_BYTES));
        Poll::Ready(Some(Ok(Frame::data(chunk))))
    }
}

async fn drop_if_stalled(unsent: Weak<Mutex<Option<UnsentBody>>>) {
    let mut seen = None;
    loop {
        tokio::time::sleep(STALL_TIMEOUT).await;
        let Some(unsent) = unsent.upgrade() else { return };
        let mut unsent = unsent.lock().unwrap_or_else(PoisonError::into_inner);
        let chunks_taken = unsent.as_ref().map(|unsent| unsent.chunks_taken);
        if chunks_taken == seen
            && let Some(UnsentBody { share, .. }) = unsent.take()
        {
            let count = share.dropped.fetch_add(1, Ordering::Relaxed) + 1;
            tracing::warn!(count, "response dropped: the client reads nothing");
            return;
        }
        seen = chunks_taken;
    }
}

/// Response whose size can be estimated: the number of bytes of its keys and values.
pub(crate) trait ResponseSize {
    fn response_size(&self) -> usize;
}

/// Estimated size of a key-value pair without its key and value, in bytes.
pub(crate) const KEY_OVERHEAD_BYTES: usize = 64;

fn total_size(kvs: &[Arc<KeyValue>]) -> usize {
    kvs.iter().map(|kv| KEY_OVERHEAD_BYTES + kv.size()).sum()
}

impl ResponseSize for RangeResult {
    fn response_size(&self) -> usize {
        total_size(&self.kvs)
    }
}

impl ResponseSize for PutResult {
    fn response_size(&self) -> usize {
        self.prev.as_ref().map_or(0, |kv| kv.size())
    }
}

impl ResponseSize for DeleteResult {
    fn response_size(&self) -> usize {
        total_size(&self.prev)
    }
}

impl ResponseSize for TxnResult {
    fn response_size(&self) -> usize {
        let response_size = |reply: &TxnOperationResult| match reply {
            TxnOperationResult::Range(it) => it.response_size(),
            TxnOperationResult::Put(it) => it.response_size(),
            TxnOperationResult::Delete(it) => it.response_size(),
            TxnOperationResult::Txn(it) => it.response_size(),
        };
        self.results.iter().map(response_size).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use futures_util::FutureExt;
    use http_body_util::BodyExt;
    use tenure_etcd::etcdserverpb as rpc;
    use tenure_etcd::etcdserverpb::request_op::Request;
    use tenure_store::{Command, Principal, Put};

    use super::*;
    use crate::auth::caller::Caller;
    use crate::net::gateway;
    use crate::rpc::{kv, lease};
    use crate::test_member::{TIME_LIMIT, TestMember};

    const LARGE: usize = 1 << 20;

    async fn member_with_large_value() -> TestMember {
        let member = TestMember::start();
        let put = Put { key: "a".into(), value: vec![0; LARGE].into(), ..Put::default() };
        member.execute(Command::Put(put)).await;
        member
    }

    #[tokio::test]
    async fn large_json_response_holds_its_share_until_sent() {
        let member = member_with_large_value().await;
        member.execute(Command::Grant { lease: 1, ttl: 600 }).await;
        let candidate = Put { key: "e/1".into(), value: vec![0; LARGE].into(), ..Put::default() };
        let attached = Put { key: vec![b'k'; LARGE].into(), lease: 1, ..Put::default() };
        for put in [candidate, attached] {
            member.execute(Command::Put(put)).await;
        }
        for (path, body) in [
            ("/v3/kv/range", r#"{"key":"YQ=="}"#),
            ("/v3/kv/put", r#"{"key":"YQ==","ignore_value":true,"prev_kv":true}"#),
            ("/v3/election/leader", r#"{"name":"ZQ=="}"#),
            ("/v3/lease/timetolive", r#"{"ID":"1","keys":true}"#),
        ] {
            let read = async || {
                let body = Body::new(http_body_util::Full::from(body));
                let request = http::Request::post(path).body(body).expect("a request");
                gateway::respond(member.member.clone(), request).await
            };
            let unsent = read().await;
            assert!(member.member.response_budget.used_bytes() >= LARGE, "{path}");
            drop(unsent);
            assert_eq!(member.member.response_budget.used_bytes(), 0, "{path}");
            let sent = read().await;
            let length = sent.headers().get("content-length").cloned().expect("a content length");
            let text = sent.into_body().collect().await.expect("a whole body").to_bytes();
            assert!(text.len() > LARGE * 4 / 3, "{path}");
            assert_eq!(length.to_str().ok(), Some(text.len().to_string().as_str()), "{path}");
            assert_eq!(member.member.response_budget.used_bytes(), 0, "{path}");
        }
    }

    #[tokio::test]
    async fn long_list_of_leases_holds_its_share_until_sent() {
        let member = TestMember::start();
        for lease in 1..=SMALL_RESPONSE_BYTES as u64 / 10 {
            let grant = Command::Grant { lease, ttl: 600 };
            let at = tenure_store::LogPosition { index: 1_000_000 + lease, term: 1 };
            member.member.with_state(|state| state.apply(at, &Principal::Member, grant));
        }
        let caller = Caller::new(member.member.clone(), Principal::Anonymous);
        let listed = lease::list(caller, rpc::LeaseLeasesRequest {}).await.expect("a list");
        assert!(member.member.response_budget.used_bytes() >= SMALL_RESPONSE_BYTES);
        drop(listed);
        assert_eq!(member.member.response_budget.used_bytes(), 0);
    }

    fn large_write(ranges: usize) -> rpc::TxnRequest {
        let range = rpc::RangeRequest { key: b"a".to_vec(), ..Default::default() };
        let put = rpc::PutRequest { key: b"b".to_vec(), ..Default::default() };
        let ranges = std::iter::repeat_n(Request::RequestRange(range), ranges);
        let operations = ranges.chain([Request::RequestPut(put)]);
        let success = operations.map(|it| rpc::RequestOp { request: Some(it) }).collect();
        rpc::TxnRequest { success, ..Default::default() }
    }

    fn has_key(member: &TestMember, key: &[u8]) -> bool {
        member.member.with_state(|state| state.store.get(key).is_some())
    }

    #[tokio::test]
    async fn executed_write_without_response_has_an_unknown_outcome() {
        let member = member_with_large_value().await;
        let caller = Caller::new(member.member.clone(), Principal::Anonymous);
        let too_large = large_write(MAX_RESPONSE_BYTES / LARGE + 1);
        let result = kv::transact(caller, too_large).await;
        assert_eq!(result.err(), Some(RpcError::TIMED_OUT));
        assert!(has_key(&member, b"b"));
    }

    #[tokio::test]
    async fn executed_write_is_undecided_until_its_response() {
        let member = member_with_large_value().await;
        let _all = member.member.response_budget.reserve(MAX_BUFFERED_BYTES).await.expect("room");
        let caller = || Caller::new(member.member.clone(), Principal::Anonymous);
        let (writer, remover) = (caller(), caller());
        let mut write = Box::pin(kv::transact(writer.clone(), large_write(1)));
        let started = Instant::now();
        while !has_key(&member, b"b") {
            assert!(write.as_mut().now_or_never().is_none());
            assert!(started.elapsed() < TIME_LIMIT, "the write is not executed");
            tokio::task::yield_now().await;
        }
        assert!(write.as_mut().now_or_never().is_none(), "the response waits for the budget");
        assert_eq!(writer.deadline_error(), RpcError::TIMED_OUT);
        let remove =
            rpc::DeleteRangeRequest { key: b"a".to_vec(), prev_kv: true, ..Default::default() };
        let mut remove = Box::pin(kv::delete_range(remover.clone(), remove));
        while has_key(&member, b"a") {
            assert!(remove.as_mut().now_or_never().is_none());
            assert!(started.elapsed() < TIME_LIMIT, "the deletion is not executed");
            tokio::task::yield_now().await;
        }
        assert!(remove.as_mut().now_or_never().is_none(), "the response waits for the budget");
        assert_eq!(remover.deadline_error(), RpcError::TIMED_OUT);
    }

    #[tokio::test]
    async fn backup_holds_its_share_until_sent() {
        let member = member_with_large_value().await;
        let mut call = member.call("/etcdserverpb.Maintenance/Snapshot").await;
        call.send(&rpc::SnapshotRequest::default()).await;
        call.end_requests();
        let first: rpc::SnapshotResponse =
            call.next_response().await.expect("a response").expect("a chunk");
        let counted = member.member.response_budget.used_bytes();
        assert!((LARGE..2 * LARGE + (1 << 20)).contains(&counted), "{counted}");
        let (mut left, mut last) = (first.remaining_bytes, first);
        while let Some(chunk) = call.next_response().await.expect("a response") {
            left -= chunk.blob.len() as u64;
            last = chunk;
        }
        assert_eq!((left, last.remaining_bytes), (0, 0));
        drop(call);
        assert_eq!(member.member.response_budget.used_bytes(), 0);
    }
}
