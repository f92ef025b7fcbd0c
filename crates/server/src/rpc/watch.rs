//! Service `Watch`: streams past events from a revision on, and new events as they happen.
//!
//! A stream stores no events, but only the next revision of each watcher. When the client can
//! receive more, the stream reads events from the history of the store. If a client is so slow that
//! the history no longer contains its next event, the watch is cancelled.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tenure_store::{HistoryCompacted, KeySpan, Store, WatchFilter};
use tokio::time::{MissedTickBehavior, interval};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use crate::auth::caller::Caller;
use crate::log::state::{PendingEventSummary, StoreAndWaiters, WatchStreamSignal, WatcherId};
use crate::rpc::convert::{self, parse_watch, signed, unsigned_or_zero};
use crate::rpc::error::RpcError;
use crate::rpc::fragments::fragments;
use crate::rpc::router::with_etcd_size_error;
use crate::rpc::{ResponseSender, spawn_response_stream};
use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::etcdserverpb::watch_request::RequestUnion;
use tenure_etcd::frames::MessageStream;

const WATCH: &str = "/etcdserverpb.Watch/Watch";

/// Number of events at which a response ends. The response still contains all events of its last
/// revision, so it may have more events.
const MAX_EVENTS: usize = 1000;

/// Bytes of keys and values at which a response ends, in the same way as for [`MAX_EVENTS`].
const MAX_EVENT_BYTES: usize = 32 << 10;

const MAX_WATCHERS: usize = 10_000;

/// Length of the longest key of a claim that a watcher stores as [`Watcher::waiting`]. A client
/// with a longer key learns of a release from the deletion of the watched key.
const MAX_WAITING_KEY_BYTES: usize = 4 << 10;

/// Watch ID in a response that does not concern a single watcher.
const NO_WATCHER: i64 = -1;

struct ClientGone;

pub(crate) fn watch(
    caller: Caller,
    request: MessageStream<rpc::WatchRequest>,
) -> ReceiverStream<Result<rpc::WatchResponse, Status>> {
    spawn_response_stream(|responses| {
        let stream = WatchStream {
            caller,
            responses,
            signal: Arc::default(),
            watchers: HashMap::new(),
            client_ids: HashMap::new(),
            next_id: 0,
        };
        stream.run(request)
    })
}

struct WatchStream {
    caller: Caller,
    responses: ResponseSender<rpc::WatchResponse>,
    signal: Arc<WatchStreamSignal>,
    /// Watchers by the watch ID that the client knows.
    watchers: HashMap<i64, Watcher>,
    /// Maps the number of a watcher within this member to the watch ID that the client knows.
    client_ids: HashMap<WatcherId, i64>,
    next_id: i64,
}

struct Watcher {
    watch: WatchFilter,
    watcher_id: WatcherId,
    /// First revision whose events were not sent to the client yet.
    next_revision: u64,
    wants_progress: bool,
    /// True if no event was sent since the last tick of the progress interval. True before the
    /// first tick, too.
    is_idle: bool,
    /// True if the client accepts a long response in fragments.
    wants_fragments: bool,
    /// Claim of the client in the queue of a lock, if the client waits for the lock. In this case,
    /// the watched key is the key of a claim that is ahead of this claim.
    waiting: Option<rpc::WaiterKey>,
}

impl WatchStream {
    async fn run(
        mut self,
        mut request: MessageStream<rpc::WatchRequest>,
    ) -> Result<(), ClientGone> {
        let mut progress = interval(self.caller.config.limits.progress_interval);
        progress.set_missed_tick_behavior(MissedTickBehavior::Delay);
        progress.tick().await;
        let mut is_open = true;
        loop {
            tokio::select! {
                request = request.message(), if is_open => match request {
                    Ok(Some(request)) => self.handle(request).await?,
                    Ok(None) => is_open = false,
                    Err(status) => {
                        let _ = self.responses.send(Err(with_etcd_size_error(status))).await;
                        return Err(ClientGone);
                    }
                },
                pending = self.signal.wait_and_take_pending() => {
                    // Later events have to wait for the next turn. Otherwise a watcher with
                    // continuous events would delay all other watchers and requests.
                    let revision = self.caller.with_state(|state| state.store.revision());
                    self.catch_up(pending, revision).await?;
                }
                _ = progress.tick() => self.send_progress().await?,
            }
        }
    }

    async fn handle(&mut self, request: rpc::WatchRequest) -> Result<(), ClientGone> {
        match request.request_union {
            Some(RequestUnion::CreateRequest(request)) => self.create_watcher(request).await,
            Some(RequestUnion::CancelRequest(it)) if self.watchers.contains_key(&it.watch_id) => {
                let canceled = self.cancel(it.watch_id);
                self.send(canceled).await
            }
            Some(RequestUnion::ProgressRequest(_)) => {
                let header = self.flush().await?;
                let progress =
                    rpc::WatchResponse { header, watch_id: NO_WATCHER, ..Default::default() };
                self.send(progress).await
            }
            Some(RequestUnion::CancelRequest(_)) | None => Ok(()),
        }
    }

    async fn create_watcher(&mut self, request: rpc::WatchCreateRequest) -> Result<(), ClientGone> {
        let watch = parse_watch(&request);
        if let Some(cancel_reason) = self.rejection(request.watch_id, &watch) {
            let rejected = rpc::WatchResponse {
                watch_id: NO_WATCHER,
                created: true,
                canceled: true,
                cancel_reason,
                ..self.empty_response()
            };
            return self.send(rejected).await;
        }
        let id = match request.watch_id {
            0 => self.free_id(),
            given => given,
        };
        let (watcher_id, revision) = self.caller.with_state(|state| {
            (state.subscribe(&watch.span, &self.signal), state.store.revision())
        });
        let next_revision =
            if watch.start_revision == 0 { revision + 1 } else { watch.start_revision };
        self.client_ids.insert(watcher_id, id);
        let watcher = Watcher {
            watch,
            watcher_id,
            next_revision,
            wants_progress: request.progress_notify,
            is_idle: true,
            wants_fragments: request.fragment,
            waiting: request.waiting.filter(|it| it.key.len() <= MAX_WAITING_KEY_BYTES),
        };
        self.watchers.insert(id, watcher);
        let header = self.caller.response_header(revision);
        let created =
            rpc::WatchResponse { header, watch_id: id, created: true, ..Default::default() };
        self.send(created).await?;
        self.deliver_events(id, revision).await
    }

    /// Returns the reason why a watcher cannot be created. Returns `None` if it can be created.
    fn rejection(&self, id: i64, watch: &WatchFilter) -> Option<String> {
        if let Err(error) =
            self.caller.check_authenticated().and_then(|()| check_read(&self.caller, watch))
        {
            self.caller.record_rejection(WATCH, &error);
            return Some(error.grpc_text());
        }
        let has_room = self.watchers.len() < MAX_WATCHERS
            && self.caller.with_state(|state| state.has_room_for_watcher(&watch.span));
        let why = match () {
            () if watch.span.is_empty() => "mvcc: watcher range is empty",
            () if id != 0 && self.watchers.contains_key(&id) => {
                "mvcc: duplicate watch ID provided on the WatchStream"
            }
            () if !has_room => {
                self.caller.record_rejection(WATCH, &RpcError::TOO_MANY_REQUESTS);
                "etcdserver: too many requests"
            }
            () => return None,
        };
        Some(why.into())
    }

    fn free_id(&mut self) -> i64 {
        while self.watchers.contains_key(&self.next_id) {
            self.next_id += 1;
        }
        self.next_id += 1;
        self.next_id - 1
    }

    /// Sends the pending events of the watchers in `pending`, up to and including the revision
    /// `last`.
    async fn catch_up(
        &mut self,
        pending: HashMap<WatcherId, PendingEventSummary>,
        last: u64,
    ) -> Result<(), ClientGone> {
        let queue = pending
            .into_iter()
            .filter_map(|(id, events)| Some((*self.client_ids.get(&id)?, events)));
        let mut queue: VecDeque<(i64, PendingEventSummary)> = queue.collect();
        while let Some((id, events)) = queue.pop_front() {
            let PendingEventSummary { since, released, changed_at } = events;
            if let Some(fence) = released {
                self.notify_released(id, fence).await?;
            }
            let Some(revision) = since else { continue };
            if let Some(watcher) = self.watchers.get_mut(&id) {
                // The watcher has no events before `revision` to send.
                watcher.next_revision = watcher.next_revision.max(revision);
                self.deliver_events(id, last).await?;
                if let Some(changed_at) = changed_at {
                    self.caller.latencies.watch_lags.record(changed_at.elapsed());
                }
            }
        }
        Ok(())
    }

    /// Notifies a client that waits for a lock that the previous holder has released the lock.
    /// `fence` is the fencing token of the previous holder.
    ///
    /// Sends nothing if the client lacks the right to read its own key or the key of the previous
    /// holder. Sends nothing if one of these keys is deleted, because the watch reports the
    /// deletion as an event.
    async fn notify_released(&mut self, watch_id: i64, fence: u64) -> Result<(), ClientGone> {
        let Some(watcher) = self.watchers.get(&watch_id) else { return Ok(()) };
        let Some(waiting) = &watcher.waiting else { return Ok(()) };
        let own = KeySpan::single(waiting.key.as_slice());
        let is_waiting_behind = self.caller.check_and_read(
            |access, principal| {
                access.authorize_read(principal, &watcher.watch.span)?;
                access.authorize_read(principal, &own)
            },
            |store| Ok(is_waiting_behind(store, &watcher.watch.span, waiting, fence)),
        );
        if is_waiting_behind != Ok(true) {
            return Ok(());
        }
        let released = signed(fence);
        self.send(rpc::WatchResponse { watch_id, released, ..self.empty_response() }).await
    }

    /// Sends all events up to the current revision, and returns a header with that revision. Leaves
    /// events of later revisions for a later call.
    async fn flush(&mut self) -> Result<Option<rpc::ResponseHeader>, ClientGone> {
        let read =
            |state: &mut StoreAndWaiters| (state.store.revision(), self.signal.take_pending());
        let (revision, pending) = self.caller.with_state(read);
        self.catch_up(pending, revision).await?;
        Ok(self.caller.response_header(revision))
    }

    /// Sends the remaining events of a watcher, up to and including the revision `last`. Cancels
    /// the watch if the client may not read them, or if the history does not contain them any more.
    async fn deliver_events(&mut self, id: i64, last: u64) -> Result<(), ClientGone> {
        let responses = self.responses.clone();
        loop {
            let room = responses.reserve().await.map_err(|_| ClientGone)?;
            let Some(watcher) = self.watchers.get_mut(&id) else { return Ok(()) };
            // The right or the token may have been revoked.
            if let Err(error) = check_read(&self.caller, &watcher.watch) {
                self.caller.record_rejection(WATCH, &error);
                let cancel_reason = error.grpc_text();
                room.send(Ok(rpc::WatchResponse { cancel_reason, ..self.cancel(id) }));
                return Ok(());
            }
            let wants_fragments = watcher.wants_fragments;
            let events = self.caller.with_state(|state| next_events(&state.store, watcher, last));
            watcher.is_idle &= matches!(&events, Ok((_, events)) if events.is_empty());
            let response = match events {
                Ok((revision, events)) if events.is_empty() => {
                    if watcher.next_revision > revision {
                        return Ok(());
                    }
                    continue;
                }
                Ok((revision, events)) => rpc::WatchResponse {
                    header: self.caller.response_header(revision),
                    watch_id: id,
                    events: events.iter().map(convert::event).collect(),
                    ..rpc::WatchResponse::default()
                },
                Err(HistoryCompacted { oldest_revision }) => {
                    let compact_revision = signed(oldest_revision);
                    rpc::WatchResponse { compact_revision, ..self.cancel(id) }
                }
            };
            let max_bytes = match wants_fragments {
                true => self.caller.config.limits.max_message_bytes(),
                false => usize::MAX,
            };
            let mut room = Some(room);
            for fragment in fragments(response, max_bytes) {
                match room.take() {
                    Some(room) => room.send(Ok(fragment)),
                    None => self.send(fragment).await?,
                }
            }
        }
    }

    /// Sends the pending events, and then a progress notification to each watcher that wants one
    /// and was idle since the last call. Events show progress themselves. etcd does the same.
    async fn send_progress(&mut self) -> Result<(), ClientGone> {
        let header = self.flush().await?;
        let mut idle = Vec::new();
        for (id, watcher) in self.watchers.iter_mut().filter(|(_, it)| it.wants_progress) {
            idle.extend(std::mem::replace(&mut watcher.is_idle, true).then_some(*id));
        }
        for watch_id in idle {
            self.send(rpc::WatchResponse { header, watch_id, ..Default::default() }).await?;
        }
        Ok(())
    }

    /// Removes a watcher, and returns the response that reports its cancellation to the client.
    fn cancel(&mut self, watch_id: i64) -> rpc::WatchResponse {
        if let Some(watcher) = self.watchers.remove(&watch_id) {
            self.client_ids.remove(&watcher.watcher_id);
            self.unsubscribe(&watcher);
        }
        rpc::WatchResponse { watch_id, canceled: true, ..self.empty_response() }
    }

    fn unsubscribe(&self, watcher: &Watcher) {
        self.caller.with_state(|state| state.unsubscribe(&watcher.watch.span, watcher.watcher_id));
    }

    fn empty_response(&self) -> rpc::WatchResponse {
        rpc::WatchResponse {
            header: self.caller.current_response_header(),
            ..rpc::WatchResponse::default()
        }
    }

    async fn send(&self, response: rpc::WatchResponse) -> Result<(), ClientGone> {
        self.responses.send(Ok(response)).await.map_err(|_| ClientGone)
    }
}

impl Drop for WatchStream {
    fn drop(&mut self) {
        self.watchers.values().for_each(|watcher| self.unsubscribe(watcher));
    }
}

fn check_read(caller: &Caller, watch: &WatchFilter) -> Result<(), RpcError> {
    caller.check_access(|access, principal| access.authorize_read(principal, &watch.span))
}

/// Returns the next events of a watcher up to the revision `last`, and advances the watcher. Also
/// returns the revision up to which the store was read: `last`, or a lower current revision.
fn next_events(
    store: &Store,
    watcher: &mut Watcher,
    last: u64,
) -> Result<(u64, Vec<tenure_store::Event>), HistoryCompacted> {
    let revision = store.revision().min(last);
    if watcher.next_revision > revision {
        return Ok((revision, Vec::new()));
    }
    let past = store.past_events(&watcher.watch, watcher.next_revision, MAX_EVENTS)?;
    let (mut events, mut bytes) = (past.events, 0);
    events.truncate(events.partition_point(|event| event.revision() <= revision));
    watcher.next_revision = past.next_revision.min(revision + 1);
    let is_too_much = |at: &usize| {
        let begins = *at > 0 && events[at - 1].revision() < events[*at].revision();
        let is_full = begins && bytes >= MAX_EVENT_BYTES;
        bytes += events[*at].kv.size() + events[*at].prev.as_ref().map_or(0, |it| it.size());
        is_full
    };
    if let Some(end) = (0..events.len()).find(is_too_much) {
        watcher.next_revision = events[end].revision();
        events.truncate(end);
    }
    Ok((revision, events))
}

/// Returns true if the claim `waiting` is behind another claim in a queue. `ahead` is the key of
/// the other claim, and `fence` is the revision in which this key was created. Returns false if one
/// of the two keys does not exist.
fn is_waiting_behind(store: &Store, ahead: &KeySpan, waiting: &rpc::WaiterKey, fence: u64) -> bool {
    let made = |key: &[u8]| store.get(key).map(|kv| kv.create_revision);
    let own = unsigned_or_zero(waiting.create_revision);
    let is_behind = ahead.end.is_empty() && fence < own;
    is_behind && made(&ahead.key) == Some(fence) && made(&waiting.key) == Some(own)
}

#[cfg(test)]
mod progress_tests;

#[cfg(test)]
mod tests;
