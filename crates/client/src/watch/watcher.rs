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
    /// Second key of the watch. The watch reports only the deletion of this key.
    second_key: Option<Vec<u8>>,
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
        self.request.waiting = Some(rpc::Waiting { key: waiter_key.to_vec(), create_revision });
        self
    }

    /// Makes the watch also report the deletion of `key`, which is a second watched key. The
    /// watches of both keys start at the same revision and share one stream.
    pub(crate) fn with_deletion_of(mut self, key: &[u8]) -> Self {
        self.second_key = Some(key.to_vec());
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
        Watcher { channel, request, second_key: None, open: None, events: VecDeque::new() }
    }

    /// Waits for the next event.
    ///
    /// After [`WatchEvent::Rejected`] and [`WatchEvent::Disconnected`], the next call opens a new
    /// watch, which continues behind the last received event. After
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
                // The next watch continues after the last event.
                WatchEvent::Disconnected => sleep(backoff.next_pause()).await,
                WatchEvent::HistoryCompacted | WatchEvent::Rejected => {
                    sleep(backoff.next_pause()).await;
                    return;
                }
            }
        }
    }

    fn requests(&self) -> Vec<Bytes> {
        let second = self.second_key.clone().map(|key| rpc::WatchCreateRequest {
            key,
            start_revision: self.request.start_revision,
            filters: vec![FilterType::Noput.into()],
            ..Default::default()
        });
        let creations = [self.request.clone()].into_iter().chain(second);
        let request = |creation| rpc::WatchRequest {
            request_union: Some(RequestUnion::CreateRequest(creation)),
        };
        creations.map(|creation| frames::encode(&request(creation))).collect()
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
            let responses = responses.map_err(|status| failure_event(&connection, &status))?;
            self.open = Some((connection, responses));
        }
        let Some((connection, responses)) = &mut self.open else { return Ok(()) };
        let response = tokio::select! {
            response = responses.next() => response,
            () = connection.wait_until_abandoned() => return Err(WatchEvent::Disconnected),
        };
        match response {
            Ok(Some(rpc::WatchResponse { canceled: true, compact_revision, .. })) => {
                if compact_revision <= 0 {
                    return Err(WatchEvent::Rejected);
                }
                self.request.start_revision = self.request.start_revision.max(compact_revision);
                Err(WatchEvent::HistoryCompacted)
            }
            Ok(Some(response)) => {
                self.events.extend(response.events.into_iter().filter_map(watch_event));
                if let Some(WatchEvent::Put(kv) | WatchEvent::Deleted(kv)) = self.events.back() {
                    let next = kv.mod_revision.saturating_add(1);
                    self.request.start_revision = self.request.start_revision.max(next);
                }
                if response.released > 0 {
                    self.events.push_back(WatchEvent::Released);
                }
                Ok(())
            }
            Ok(None) => Err(WatchEvent::Disconnected),
            Err(status) => Err(failure_event(connection, &status)),
        }
    }
}

/// Returns the event that reports the failure of a watch. If another member should serve the watch,
/// abandons the connection.
fn failure_event(connection: &Connection, status: &Status) -> WatchEvent {
    match retry_action(status) {
        RetryAction::Fail => WatchEvent::Rejected,
        RetryAction::Retry => WatchEvent::Disconnected,
        RetryAction::Failover => {
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
