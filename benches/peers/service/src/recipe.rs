//! The lock of etcd as its own client implements it (`etcdctl lock`, the package `concurrency` of
//! the Go client 3.5). A session has one lease. To acquire the lock, the client creates a key in
//! the queue and waits until no older key is left. To release the lock, it deletes its key.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http::uri::PathAndQuery;
use prost::Message;
use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::etcdserverpb::compare::{CompareResult, CompareTarget, TargetUnion};
use tenure_etcd::etcdserverpb::range_request::{SortOrder, SortTarget};
use tenure_etcd::etcdserverpb::request_op::Request;
use tenure_etcd::etcdserverpb::response_op::Response;
use tenure_etcd::etcdserverpb::watch_request::RequestUnion;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request as TonicRequest, Status, Streaming};
use tonic_prost::ProstCodec;

use crate::sessions::RenewalCounters;

/// TTL of a session in seconds, as in `etcdctl lock`.
const TTL: i64 = 10;

mod read_write;

pub const RANGE: &str = "/etcdserverpb.KV/Range";
pub const TXN: &str = "/etcdserverpb.KV/Txn";

/// A client with one session and one connection at a time.
pub struct Recipe {
    members: Vec<SocketAddr>,
    at: usize,
    channel: Channel,
    lease: i64,
    name: String,
    keeper: JoinHandle<()>,
}

impl Recipe {
    pub async fn start(members: &[SocketAddr], first: usize, name: &str) -> Recipe {
        let at = first % members.len();
        let channel = channel_to(members[at]);
        let request = rpc::LeaseGrantRequest { ttl: TTL, id: 0 };
        let granted: Result<rpc::LeaseGrantResponse, Status> =
            ask(&channel, "/etcdserverpb.Lease/LeaseGrant", request).await;
        let lease = granted.expect("a lease").id;
        let keeper = tokio::spawn(keep(channel.clone(), lease));
        Recipe { members: members.to_vec(), at, channel, lease, name: name.to_owned(), keeper }
    }

    pub fn use_next_member(&mut self) {
        self.at = (self.at + 1) % self.members.len();
        self.channel = channel_to(self.members[self.at]);
        self.keeper.abort();
        self.keeper = tokio::spawn(keep(self.channel.clone(), self.lease));
    }

    pub async fn cycle(&mut self) -> Result<(), Status> {
        let key = format!("{}/{:x}", self.name, self.lease).into_bytes();
        let answer: rpc::TxnResponse = ask(&self.channel, TXN, self.acquire(&key)).await?;
        let revision = answer.header.as_ref().map_or(0, |header| header.revision);
        let ranges: Vec<&rpc::RangeResponse> = answer.responses.iter().filter_map(range).collect();
        let owner = ranges.last().and_then(|it| it.kvs.first());
        let own = match answer.succeeded {
            true => revision,
            false => ranges[0].kvs[0].create_revision,
        };
        if owner.is_some_and(|owner| owner.create_revision < own) {
            self.wait(own, revision).await?;
            let request = rpc::RangeRequest { key: key.clone(), ..Default::default() };
            let seen: rpc::RangeResponse = ask(&self.channel, RANGE, request).await?;
            assert_eq!(seen.kvs.len(), 1, "the session is alive");
        }
        let request = rpc::DeleteRangeRequest { key, ..Default::default() };
        let path = "/etcdserverpb.KV/DeleteRange";
        let _: rpc::DeleteRangeResponse = ask(&self.channel, path, request).await?;
        Ok(())
    }

    fn acquire(&self, key: &[u8]) -> rpc::TxnRequest {
        let put = rpc::PutRequest { key: key.to_vec(), lease: self.lease, ..Default::default() };
        let own = rpc::RangeRequest { key: key.to_vec(), ..Default::default() };
        let owner =
            rpc::RangeRequest { limit: 1, sort_order: SortOrder::Ascend.into(), ..self.queue() };
        let absent = rpc::Compare {
            result: CompareResult::Equal.into(),
            target: CompareTarget::Create.into(),
            key: key.to_vec(),
            range_end: Vec::new(),
            target_union: Some(TargetUnion::CreateRevision(0)),
        };
        let op = |request| rpc::RequestOp { request: Some(request) };
        let owner = || op(Request::RequestRange(owner.clone()));
        rpc::TxnRequest {
            compare: vec![absent],
            success: vec![op(Request::RequestPut(put)), owner()],
            failure: vec![op(Request::RequestRange(own)), owner()],
        }
    }

    fn queue(&self) -> rpc::RangeRequest {
        rpc::RangeRequest {
            key: format!("{}/", self.name).into_bytes(),
            range_end: format!("{}0", self.name).into_bytes(),
            sort_target: SortTarget::Create.into(),
            ..Default::default()
        }
    }

    /// Waits until the queue contains no key that is older than the client's own key. Watches one
    /// older key at a time, and continues with the next one after its deletion.
    async fn wait(&self, own: i64, revision: i64) -> Result<(), Status> {
        loop {
            let request = rpc::RangeRequest {
                limit: 1,
                sort_order: SortOrder::Descend.into(),
                max_create_revision: own - 1,
                ..self.queue()
            };
            let ahead: rpc::RangeResponse = ask(&self.channel, RANGE, request).await?;
            let Some(ahead) = ahead.kvs.into_iter().next() else { return Ok(()) };
            self.wait_deleted(ahead.key, revision).await?;
        }
    }

    async fn wait_deleted(&self, key: Vec<u8>, start_revision: i64) -> Result<(), Status> {
        let create = rpc::WatchCreateRequest { key, start_revision, ..Default::default() };
        // `_asks` keeps the request side open. If it were closed, the member would not notice a
        // cancellation.
        let (_asks, mut answers) = watch(&self.channel, create).await?;
        while let Some(answer) = answers.message().await? {
            // Each event is a deletion; the first response has none.
            if answer.events.iter().any(|event| event.r#type == 1) {
                return Ok(());
            }
        }
        Err(Status::unavailable("the watch has ended"))
    }
}

impl Drop for Recipe {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

/// Opens a watch. Returns the request side and the responses.
pub async fn watch(
    channel: &Channel,
    create: rpc::WatchCreateRequest,
) -> Result<(mpsc::Sender<rpc::WatchRequest>, Streaming<rpc::WatchResponse>), Status> {
    let request = rpc::WatchRequest { request_union: Some(RequestUnion::CreateRequest(create)) };
    let (asks, more) = mpsc::channel(1);
    asks.try_send(request).expect("the channel is open");
    let mut grpc = ready(channel).await?;
    let codec = ProstCodec::<rpc::WatchRequest, rpc::WatchResponse>::default();
    let path = PathAndQuery::from_static("/etcdserverpb.Watch/Watch");
    let request = TonicRequest::new(ReceiverStream::new(more));
    Ok((asks, grpc.streaming(request, path, codec).await?.into_inner()))
}

/// Returns a channel to a member that connects on demand and reconnects.
pub fn channel_to(to: SocketAddr) -> Channel {
    let endpoint = Endpoint::from_shared(format!("http://{to}")).expect("an address");
    // `h2` treats many small frames as a flood if they exceed half of the window. The events of
    // cancelled watches are such frames, so the window is large.
    endpoint.tcp_nodelay(true).initial_connection_window_size(1 << 30).connect_lazy()
}

pub async fn leader(members: &[SocketAddr], index: usize) -> Option<usize> {
    let status = status(members[index]).await?;
    for (index, member) in members.iter().enumerate() {
        let Some(answer) = self::status(*member).await else { continue };
        if answer.header.is_some_and(|header| header.member_id == status.leader) {
            return Some(index);
        }
    }
    None
}

pub async fn status(of: SocketAddr) -> Option<rpc::StatusResponse> {
    let request = rpc::StatusRequest::default();
    let path = "/etcdserverpb.Maintenance/Status";
    let answer = timeout(Duration::from_secs(1), ask(&channel_to(of), path, request)).await;
    answer.ok()?.ok()
}

pub async fn put(channel: &Channel, key: Vec<u8>, value: Vec<u8>) -> Result<(), Status> {
    let request = rpc::PutRequest { key, value, ..Default::default() };
    let _: rpc::PutResponse = ask(channel, "/etcdserverpb.KV/Put", request).await?;
    Ok(())
}

/// Renews a lease three times per TTL, on one stream.
async fn keep(channel: Channel, id: i64) {
    loop {
        let pause = Duration::from_millis(TTL.unsigned_abs() * 1000 / 3);
        let beats = tokio_stream::iter(std::iter::repeat(())).throttle(pause);
        let request = beats.map(move |()| rpc::LeaseKeepAliveRequest { id });
        if let Ok(mut grpc) = ready(&channel).await {
            let codec =
                ProstCodec::<rpc::LeaseKeepAliveRequest, rpc::LeaseKeepAliveResponse>::default();
            let path = PathAndQuery::from_static("/etcdserverpb.Lease/LeaseKeepAlive");
            if let Ok(answers) = grpc.streaming(TonicRequest::new(request), path, codec).await {
                let mut answers = answers.into_inner();
                while let Ok(Some(_)) = answers.message().await {}
            }
        }
        sleep(Duration::from_millis(500)).await;
    }
}

/// Leases that one connection renews, on one stream.
pub struct Leases(JoinHandle<()>);

impl Leases {
    /// Grants leases, 32 at a time, and renews them.
    pub async fn keep(channel: Channel, count: usize, seen: Arc<RenewalCounters>) -> Leases {
        let mut ids = Vec::with_capacity(count);
        let mut granting = JoinSet::new();
        for _ in 0..count {
            let channel = channel.clone();
            granting.spawn(async move {
                let request = rpc::LeaseGrantRequest { ttl: TTL, id: 0 };
                let path = "/etcdserverpb.Lease/LeaseGrant";
                let granted: Result<rpc::LeaseGrantResponse, Status> =
                    ask(&channel, path, request).await;
                granted.expect("a lease").id
            });
            if granting.len() == 32 {
                ids.extend(granting.join_next().await.and_then(Result::ok));
            }
        }
        ids.extend(granting.join_all().await);
        Leases(tokio::spawn(renew(channel, ids, seen)))
    }
}

impl Drop for Leases {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Renews all leases again and again. One pass over all leases takes a third of the TTL.
async fn renew(channel: Channel, ids: Vec<i64>, seen: Arc<RenewalCounters>) {
    let sent: Arc<Mutex<VecDeque<Instant>>> = Arc::default();
    let pause = Duration::from_millis(TTL.unsigned_abs() * 1000 / 3) / (ids.len() as u32 / 10);
    let (times, mut next) = (sent.clone(), 0);
    let beats = tokio_stream::iter(std::iter::repeat(())).throttle(pause);
    let request = futures_util::StreamExt::flat_map(beats, move |()| {
        let now: Vec<_> = (0..10)
            .map(|_| {
                next = (next + 1) % ids.len();
                times.lock().expect("not poisoned").push_back(Instant::now());
                rpc::LeaseKeepAliveRequest { id: ids[next] }
            })
            .collect();
        tokio_stream::iter(now)
    });
    let codec = ProstCodec::<rpc::LeaseKeepAliveRequest, rpc::LeaseKeepAliveResponse>::default();
    let path = PathAndQuery::from_static("/etcdserverpb.Lease/LeaseKeepAlive");
    let mut grpc = ready(&channel).await.expect("a member accepts");
    let answers = grpc.streaming(TonicRequest::new(request), path, codec).await.expect("a stream");
    let mut answers = answers.into_inner();
    while let Some(answer) = answers.message().await.expect("a response to the renewal") {
        let sent = sent.lock().expect("not poisoned").pop_front();
        let took = sent.map_or(Duration::ZERO, |sent| sent.elapsed());
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        seen.slowest.fetch_max(micros, Ordering::Relaxed);
        let count = if answer.ttl > 0 { &seen.renewed } else { &seen.expired };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

async fn ready(channel: &Channel) -> Result<Grpc<Channel>, Status> {
    let mut grpc = Grpc::new(channel.clone());
    grpc.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
    Ok(grpc)
}

pub async fn ask<Q, A>(channel: &Channel, path: &'static str, request: Q) -> Result<A, Status>
where
    Q: Message + 'static,
    A: Message + Default + 'static,
{
    let mut grpc = ready(channel).await?.max_decoding_message_size(usize::MAX);
    let codec = ProstCodec::<Q, A>::default();
    let path = PathAndQuery::from_static(path);
    Ok(grpc.unary(TonicRequest::new(request), path, codec).await?.into_inner())
}

fn range(op: &rpc::ResponseOp) -> Option<&rpc::RangeResponse> {
    match &op.response {
        Some(Response::ResponseRange(range)) => Some(range),
        _ => None,
    }
}
