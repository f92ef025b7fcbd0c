//! Watches of keys, served by any member that responds.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::etcdserverpb::watch_create_request::FilterType;
use tenure_etcd::etcdserverpb::watch_request::RequestUnion;
use tenure_etcd::frames;
use tenure_etcd::mvccpb::event::EventType;
use tenure_etcd::mvccpb::{Event, KeyValue};
use tokio::time::{Instant, sleep, timeout};
use tonic::Status;

use crate::error::ClientError;
use crate::requests::signed;
use crate::transport::channel::Channel;
use crate::transport::connection::{Connection, ResponseStream};
use crate::transport::retry::{Backoff, RetryAction, no_response_status, retry_action};
use crate::transport::{ATTEMPT_TIMEOUT, REQUEST_TIMEOUT};

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WatchEvent {
    /// A key was created or changed.
    Put(KeyValue),
    /// A key was deleted. The value of the event is empty, and `mod_revision` is the revision of
    /// the deletion.
    Deleted(KeyValue),
    /// The client that holds the watched key has told the service that it releases the lock. The
    /// key will be deleted soon.
    Released,
    /// The service has removed the history at the requested revision.
    HistoryCompacted,
    /// The service rejected or ended the watch. A read of the key shows the reason.
    Rejected,
    /// The connection failed. Another member may serve the watch.
    Disconnected,
}

type OpenWatch = (Arc<Connection>, ResponseStream<rpc::WatchResponse>);

/// A watch of one key or of a range of keys. The watch may also report the deletion of a second
/// key.
pub(crate) struct Watcher {
    channel: Arc<Channel>,
    /// Request that opens the next watch. The watch starts at the revision after the last received
    /// event.
    request: rpc::WatchCreateRequest,
    /// Request that opens the watch of a second key, which reports only the deletion of this key. A
    /// member may report the events of the two keys in any order. Events of the first key therefore
    /// do not move the start of this watch.
    second_request: Option<rpc::WatchCreateRequest>,
    open: Option<OpenWatch>,
    events: VecDeque<WatchEvent>,
}

impl Watcher {
    pub(crate) fn of_key(channel: Arc<Channel>, key: &[u8], from: u64) -> Self {
        Self::of_range(channel, (key.to_vec(), Vec::new()), from)
    }

    /// Makes the watch also report a release by the holder of the watched key. The service reports
    /// the release only while the key of the waiter exists. Only `tenure serve` reports releases.
    pub(crate) fn with_release_events(
        mut self,
        waiter_key: &[u8],
        waiter_create_revision: u64,
    ) -> Self {
        let create_revision = signed(waiter_create_revision);
        self.request.waiting = Some(rpc::WaiterKey { key: waiter_key.to_vec(), create_revision });
        self
    }

    /// Makes the watch also report the deletion of `key`, which is a second watched key. The
    /// watches of both keys start at the same revision and share one stream. After a reconnection,
    /// the deletion may be reported again.
    pub(crate) fn with_deletion_of(mut self, key: &[u8]) -> Self {
        self.second_request = Some(rpc::WatchCreateRequest {
            key: key.to_vec(),
            start_revision: self.request.start_revision,
            filters: vec![FilterType::Noput.into()],
            ..Default::default()
        });
        self
    }

    pub(crate) fn without_puts(mut self) -> Self {
        self.request.filters = vec![FilterType::Noput.into()];
        self
    }

    pub(crate) fn of_range(
        channel: Arc<Channel>,
        (key, range_end): (Vec<u8>, Vec<u8>),
        from: u64,
    ) -> Self {
        let start_revision = signed(from);
        let request =
            rpc::WatchCreateRequest { key, range_end, start_revision, ..Default::default() };
        Watcher { channel, request, second_request: None, open: None, events: VecDeque::new() }
    }

    /// Waits for the next event.
    ///
    /// After [`WatchEvent::Rejected`] and [`WatchEvent::Disconnected`], the next call opens a new
    /// watch, which continues after the last received event. After
    /// [`WatchEvent::HistoryCompacted`], the next call opens a new watch at the oldest revision
    /// that the service has not removed.
    pub(crate) async fn next(&mut self) -> WatchEvent {
        loop {
            if let Some(event) = self.events.pop_front() {
                return event;
            }
            if let Err(event) = self.receive().await {
                self.open = None;
                return event;
            }
        }
    }

    /// Waits for the deletion of a key for which `is_awaited` returns true. Returns early if the
    /// service rejects the watch or has removed the history. After the return, the caller must read
    /// the keys in all cases.
    pub(crate) async fn wait_for_deletion(
        &mut self,
        mut is_awaited: impl FnMut(&[u8]) -> bool,
        backoff: &mut Backoff,
    ) {
        loop {
            match self.next().await {
                WatchEvent::Deleted(deleted) => {
                    *backoff = Backoff::default();
                    if is_awaited(&deleted.key) {
                        return;
                    }
                }
                WatchEvent::Put(_) | WatchEvent::Released => {}
                // The next watch continues after the last received event.
                WatchEvent::Disconnected => sleep(backoff.next_pause()).await,
                WatchEvent::HistoryCompacted | WatchEvent::Rejected => {
                    sleep(backoff.next_pause()).await;
                    return;
                }
            }
        }
    }

    fn requests(&self) -> Vec<Bytes> {
        let creations = [&self.request].into_iter().chain(&self.second_request);
        let request = |creation: &rpc::WatchCreateRequest| rpc::WatchRequest {
            request_union: Some(RequestUnion::CreateRequest(creation.clone())),
        };
        creations.map(|creation| frames::encode(&request(creation))).collect()
    }

    /// Moves the start of the next watch to the revision after `event`. Ignores an event of the
    /// second key.
    fn continue_behind(&mut self, event: &WatchEvent) {
        let (WatchEvent::Put(kv) | WatchEvent::Deleted(kv)) = event else { return };
        if self.second_request.as_ref().is_none_or(|second| second.key != kv.key) {
            let next = kv.mod_revision.saturating_add(1);
            self.request.start_revision = self.request.start_revision.max(next);
        }
    }

    /// Opens the watch if it is not open, and receives one response.
    async fn receive(&mut self) -> Result<(), WatchEvent> {
        if self.open.is_none() {
            let connection = self.channel.get_or_connect(Instant::now() + REQUEST_TIMEOUT).await;
            let connection = connection.map_err(|error| match error {
                ClientError::Rejected { .. } => WatchEvent::Rejected,
                _ => WatchEvent::Disconnected,
            })?;
            let opening = connection.subscribe("/etcdserverpb.Watch/Watch", self.requests());
            let opened = timeout(ATTEMPT_TIMEOUT, opening).await;
            let responses = opened.unwrap_or_else(|_| Err(no_response_status()));
            let responses =
                responses.map_err(|status| failure_event(&self.channel, &connection, status))?;
            self.channel.failures.clear();
            self.open = Some((connection, responses));
        }
        let Some((connection, responses)) = &mut self.open else { return Ok(()) };
        let response = tokio::select! {
            response = responses.next() => response,
            () = connection.wait_until_abandoned() => return Err(WatchEvent::Disconnected),
        };
        match response {
            Ok(Some(response)) if response.canceled => {
                let rpc::WatchResponse { compact_revision, cancel_reason, .. } = response;
                if connection.has_rejected_token(&cancel_reason) {
                    let status = Status::unauthenticated(cancel_reason);
                    return Err(failure_event(&self.channel, connection, status));
                }
                if compact_revision <= 0 {
                    return Err(WatchEvent::Rejected);
                }
                for request in [&mut self.request].into_iter().chain(&mut self.second_request) {
                    request.start_revision = request.start_revision.max(compact_revision);
                }
                Err(WatchEvent::HistoryCompacted)
            }
            Ok(Some(response)) => {
                for event in response.events.into_iter().filter_map(watch_event) {
                    self.continue_behind(&event);
                    self.events.push_back(event);
                }
                if response.released > 0 {
                    self.events.push_back(WatchEvent::Released);
                }
                Ok(())
            }
            Ok(None) => Err(WatchEvent::Disconnected),
            Err(status) => Err(failure_event(&self.channel, connection, status)),
        }
    }
}

/// Returns the event that reports the failure of a watch. If another member should serve the watch,
/// records the failure and abandons the connection.
fn failure_event(channel: &Channel, connection: &Connection, status: Status) -> WatchEvent {
    let status = connection.with_code_of_rejected_token(status);
    match retry_action(&status) {
        RetryAction::Fail => WatchEvent::Rejected,
        RetryAction::Retry => WatchEvent::Disconnected,
        RetryAction::Failover => {
            channel.failures.record(connection.address(), &status);
            connection.abandon();
            WatchEvent::Disconnected
        }
    }
}

fn watch_event(event: Event) -> Option<WatchEvent> {
    let is_deleted = event.r#type() == EventType::Delete;
    let kv = event.kv?;
    Some(if is_deleted { WatchEvent::Deleted(kv) } else { WatchEvent::Put(kv) })
}

#[cfg(test)]
mod tests {
    use h2::RecvStream;
    use h2::server::SendResponse;
    use http::{HeaderMap, HeaderValue, Response};
    use prost::Message;
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

    use super::*;
    use crate::options::ConnectOptions;
    use crate::transport::endpoint::Endpoint;

    const STEP_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(120);

    /// Length of the header of a gRPC message: a flag, and the length of the message.
    const HEADER: usize = 5;

    /// Keys of a watch stream, each with the revision at which its watch starts.
    type WatchedKeys = Vec<(Vec<u8>, i64)>;

    /// Receives the requests for two watches.
    async fn receive_two_watches(mut body: RecvStream) -> WatchedKeys {
        let (mut bytes, mut keys) = (Vec::new(), Vec::new());
        while keys.len() < 2 {
            let chunk = body.data().await.expect("two requests").expect("the stream is open");
            bytes.extend_from_slice(&chunk);
            while let Some(&[_, a, b, c, d]) = bytes.first_chunk::<HEADER>() {
                let end = HEADER + u32::from_be_bytes([a, b, c, d]) as usize;
                let Some(message) = bytes.get(HEADER..end) else { break };
                let request = rpc::WatchRequest::decode(message).expect("a request");
                let Some(RequestUnion::CreateRequest(create)) = request.request_union else {
                    panic!("{request:?}")
                };
                keys.push((create.key, create.start_revision));
                bytes.drain(..end);
            }
        }
        keys
    }

    /// Reports that the key `a/1` was changed in revision 20. Then fails, so that the client opens
    /// the watches again at another member.
    async fn serve_watches(
        body: RecvStream,
        mut respond: SendResponse<Bytes>,
        watched: UnboundedSender<WatchedKeys>,
    ) {
        let keys = receive_two_watches(body).await;
        let kv = KeyValue { key: b"a/1".to_vec(), mod_revision: 20, ..Default::default() };
        let event = Event { kv: Some(kv), ..Default::default() };
        let message = rpc::WatchResponse { events: vec![event], ..Default::default() };
        let message = frames::encode(&message);
        let length = u32::try_from(message.len()).expect("a short message");
        let message = [&[0], &length.to_be_bytes()[..], &message].concat();
        let head = Response::builder().header("content-type", "application/grpc");
        let head = head.body(()).expect("a response");
        let mut stream = respond.send_response(head, false).expect("the stream is open");
        stream.send_data(message.into(), false).expect("the stream is open");
        let unavailable = HeaderMap::from_iter([(
            "grpc-status".parse().expect("a name"),
            HeaderValue::from_static("14"),
        )]);
        stream.send_trailers(unavailable).expect("the stream is open");
        let _ = watched.send(keys);
    }

    async fn serve(stream: TcpStream, watched: UnboundedSender<WatchedKeys>) {
        let mut requests = h2::server::handshake(stream).await.expect("a client");
        let mut ignored = Vec::new();
        while let Some(Ok((request, respond))) = requests.accept().await {
            match request.uri().path() {
                "/etcdserverpb.Watch/Watch" => {
                    tokio::spawn(serve_watches(request.into_body(), respond, watched.clone()));
                }
                _ => ignored.push(respond),
            }
        }
    }

    /// A member reports a change of the first key in revision 20. The second key may have been
    /// deleted in an earlier revision that the member has not reported.
    #[tokio::test]
    async fn second_key_is_watched_from_its_start_after_a_failure() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let (sender, mut watched) = unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, sender.clone()));
            }
        });
        let endpoint = Endpoint::parse(&address).expect("an endpoint");
        let channel = Arc::new(Channel::new(vec![endpoint], ConnectOptions::default()));
        let mut watcher = Watcher::of_key(channel, b"a/1", 10).with_deletion_of(b"a/2");
        let watching = tokio::spawn(async move {
            loop {
                watcher.next().await;
            }
        });
        let mut streams = Vec::new();
        for _ in 0..2 {
            let keys = timeout(STEP_TIMEOUT, watched.recv()).await.expect("a watch stream");
            streams.push(keys.expect("the member runs"));
        }
        watching.abort();
        let keys = |first| vec![(b"a/1".to_vec(), first), (b"a/2".to_vec(), 10)];
        assert_eq!(streams, [keys(10), keys(21)]);
    }
}
