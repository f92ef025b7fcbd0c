//! Entries in the queue of a lock or an election: a client requests an entry, and waits until the
//! entry is first.

use futures_util::future::BoxFuture;
use tenure_etcd::etcdserverpb as rpc;
use tenure_session::{QueueView, Waiter, WaiterAction};
use tokio::time::{Instant, sleep};
use tonic::Code;
use tracing::{Instrument, Span};

use crate::error::ClientError;
use crate::lock::claim::Claim;
use crate::requests;
use crate::session::Session;
use crate::session::release::PendingRelease;
use crate::telemetry::{metrics, spans};
use crate::transport::retry::Backoff;
use crate::watch::watcher::{WatchEvent, Watcher};

/// Maximum number of keys that one read returns, unless a single revision created more keys.
const MAX_KEYS_PER_READ: i64 = 1024;

/// Event at which a waiter acquires the lock from its predecessor in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandOverEvent {
    /// The waiter acquires the lock when the predecessor sends the release of the lock, or when the
    /// predecessor's key is deleted.
    OnRelease,
    /// The waiter acquires the lock when the predecessor's key is deleted. A client that reads the
    /// queue after this event therefore does not see the former holder.
    OnDeletion,
}

struct Enqueued {
    view: QueueView<Vec<u8>>,
    /// True if the request created the key. `view` then contains the predecessor of the key.
    is_new: bool,
}

/// Future of the request that adds the key to the queue. The flag is true if the request was sent
/// more than once. A delayed copy of the request may then create the key after it was deleted.
type EnqueueFuture = BoxFuture<'static, (Result<Enqueued, ClientError>, bool)>;

/// Request that adds the key to the queue, and deletes keys that the session has released.
enum EnqueueRequest {
    /// The request was not sent. If the entry is dropped, the key does not exist.
    Prepared(rpc::TxnRequest, Vec<PendingRelease>),
    /// The request was sent and has no response yet. If the entry is dropped, a background task
    /// waits for the response, and then deletes the key.
    Sent(EnqueueFuture),
}

/// An entry in a queue. Dropping the entry deletes its key.
pub(crate) struct QueueEntry {
    session: Session,
    /// Name of the queue in which the entry must become first. For a read/write lock, this is not
    /// always the queue of `key`.
    name: String,
    key: Vec<u8>,
    /// Key of the candidate's record, which stores the identity and the priority. The record is
    /// created and deleted together with `key`. `None` for locks, and for candidates without
    /// options.
    record_key: Option<Vec<u8>>,
    started: Instant,
    span: Span,
    /// Request that has no response yet. `None` after the response.
    request: Option<EnqueueRequest>,
    waiter: Waiter<Vec<u8>>,
    hand_over: HandOverEvent,
    backoff: Backoff,
    /// True if the key of this entry may exist in the store.
    has_possible_key: bool,
    /// True if the request to enqueue was sent more than once. A delayed copy of the request may
    /// then create the key again after its deletion.
    can_reappear: bool,
}

impl QueueEntry {
    /// Creates an entry, and prepares the request that puts its claim into the queue. The request
    /// also deletes keys that the session has released.
    ///
    /// By default, the entry acquires the lock when the predecessor's key is deleted.
    /// [`QueueEntry::with_hand_over`] chooses another event.
    pub(crate) fn prepare(
        session: &Session,
        name: &str,
        key: Vec<u8>,
        request: rpc::TxnRequest,
    ) -> QueueEntry {
        let releases = session.release_queue().take_batch();
        QueueEntry::new(session, name, key, request, releases)
    }

    /// Creates an entry like [`QueueEntry::prepare`], but with a request that does not delete the
    /// keys of locks that the session has released. Use this for a request with a condition on the
    /// queue, for example that the queue is empty.
    ///
    /// The service evaluates the condition before it executes any deletion. The condition would
    /// therefore count the released keys.
    pub(crate) fn prepare_without_releases(
        session: &Session,
        name: &str,
        key: Vec<u8>,
        request: rpc::TxnRequest,
    ) -> QueueEntry {
        QueueEntry::new(session, name, key, request, Vec::new())
    }

    fn new(
        session: &Session,
        name: &str,
        key: Vec<u8>,
        request: rpc::TxnRequest,
        releases: Vec<PendingRelease>,
    ) -> QueueEntry {
        QueueEntry {
            session: session.clone(),
            name: name.to_owned(),
            key,
            record_key: None,
            started: Instant::now(),
            span: spans::acquire(session, name),
            request: Some(EnqueueRequest::Prepared(request, releases)),
            waiter: Waiter::new(),
            hand_over: HandOverEvent::OnDeletion,
            backoff: Backoff::default(),
            has_possible_key: true,
            can_reappear: false,
        }
    }

    pub(crate) fn with_hand_over(mut self, hand_over: HandOverEvent) -> QueueEntry {
        self.hand_over = hand_over;
        self
    }

    /// Adds the key of the candidate's record. The request creates the record together with the
    /// claim.
    pub(crate) fn with_record_key(mut self, record_key: Vec<u8>) -> QueueEntry {
        self.record_key = Some(record_key);
        self
    }

    /// Measures the waiting time of this entry from the start of `earlier`, the previous entry of
    /// the same candidate.
    pub(crate) fn with_start_time_of(mut self, earlier: &QueueEntry) -> QueueEntry {
        self.started = earlier.started;
        self
    }

    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Makes [`QueueEntry::resume_waiting`] wait in the queue `name`. The wait ends when this queue
    /// contains no key that is older than the key of this entry.
    pub(crate) fn set_awaited_queue(&mut self, name: &str) {
        name.clone_into(&mut self.name);
        self.waiter = Waiter::new();
    }

    /// Notes that the key of this entry does not exist in the store. Dropping the entry then sends
    /// a deletion only if a delayed request may create the key again, or if the entry has a
    /// candidate's record.
    pub(crate) fn set_key_absent(&mut self) {
        self.has_possible_key = self.can_reappear || self.record_key.is_some();
    }

    /// Notes that neither the key of this entry nor the candidate's record exists in the store.
    /// Dropping the entry then sends a deletion only if a delayed request may create them again.
    pub(crate) fn set_key_and_record_absent(&mut self) {
        self.has_possible_key = self.can_reappear;
    }

    /// Sends the request, and returns the revision in which the key was created; `None` if the key
    /// does not exist. The request has one result, so the caller calls either this method or
    /// [`QueueEntry::start_waiting`], once.
    pub(crate) async fn wait_for_create_revision(&mut self) -> Result<Option<u64>, ClientError> {
        let own = self.enqueued().await?.view.own_create_revision;
        if own.is_none() {
            self.set_key_absent();
        }
        Ok(own)
    }

    /// Sends the request if it was not sent, and waits for its response. Must be called until it
    /// returns the result. If the future is dropped, the next call continues to wait.
    async fn enqueued(&mut self) -> Result<Enqueued, ClientError> {
        let request = match self.request.take().expect("the result is taken once") {
            EnqueueRequest::Prepared(request, releases) => {
                let (session, name, key) =
                    (self.session.clone(), self.name.clone(), self.key.clone());
                let request = enqueue(session, name, key, request, releases);
                Box::pin(request.instrument(self.span.clone()))
            }
            EnqueueRequest::Sent(request) => request,
        };
        let EnqueueRequest::Sent(request) = self.request.insert(EnqueueRequest::Sent(request))
        else {
            unreachable!("the request was just stored")
        };
        let (enqueued, can_reappear) = request.await;
        self.request = None;
        self.has_possible_key = enqueued.is_ok() || can_reappear;
        self.can_reappear = can_reappear;
        enqueued
    }

    /// Sends the request and finds the predecessor. Returns the revision in which the key was
    /// created, and the next action of the waiter. The revision is 0 if the key does not exist.
    pub(crate) async fn start_waiting(
        &mut self,
    ) -> Result<(u64, Option<WaiterAction<Vec<u8>>>), ClientError> {
        let Enqueued { view, is_new } = self.enqueued().await?;
        let own = view.own_create_revision.unwrap_or(0);
        // The response contains the predecessor only if this request created the key.
        let action = match is_new {
            true => self.waiter.on_queue_view(view),
            false => self.read_queue(own, 0).await?,
        };
        Ok((own, action))
    }

    /// Sends the request, waits until the entry is first in its queue, and returns its fencing
    /// token.
    pub(crate) async fn wait_until_first(&mut self) -> Result<u64, ClientError> {
        let (own, action) = self.start_waiting().await?;
        let span = self.span.clone();
        self.follow(own, action).instrument(span).await
    }

    /// Continues the wait of an entry that is in the queue already, and returns its fencing token
    /// once it is first. `create_revision` is the revision in which the key was created. If the
    /// future is dropped, the entry keeps its place, and the next call continues.
    pub(crate) async fn resume_waiting(
        &mut self,
        create_revision: u64,
    ) -> Result<u64, ClientError> {
        if let Some(fence) = self.waiter.fence() {
            return Ok(fence);
        }
        let (action, span) = (self.waiter.on_reconnected(), self.span.clone());
        self.follow(create_revision, action).instrument(span).await
    }

    async fn follow(
        &mut self,
        own: u64,
        mut action: Option<WaiterAction<Vec<u8>>>,
    ) -> Result<u64, ClientError> {
        loop {
            action = match action {
                Some(WaiterAction::Acquired { fence }) => return Ok(fence),
                Some(WaiterAction::Removed) => {
                    self.set_key_absent();
                    return Err(self.session.query_key_deletion_reason().await.into());
                }
                Some(WaiterAction::ReadQueue { since }) => self.read_queue(own, since).await?,
                Some(WaiterAction::Watch { key, from }) => self.watch(own, key, from).await,
                None => self.waiter.on_reconnected(),
            };
        }
    }

    /// Reads the queue, and returns the next action of the waiter.
    ///
    /// If `since` is not 0, any member may serve the read from its own state, without a quorum. If
    /// the response is older than the revision `since`, the next action is to read the queue again.
    async fn read_queue(
        &mut self,
        own: u64,
        since: u64,
    ) -> Result<Option<WaiterAction<Vec<u8>>>, ClientError> {
        let max_revision = own.saturating_sub(1);
        let search = find_predecessor(&self.session, &self.name, &self.key, max_revision, since);
        let mut view = search.await?;
        // If the key was created again later, the claim of this entry has ended.
        view.own_create_revision = view.own_create_revision.filter(|found| *found == own);
        Ok(self.waiter.on_queue_view(view))
    }

    /// Watches the predecessor's key until the predecessor releases the lock, or until the key is
    /// deleted. The wait also ends when this entry's own key is deleted, which may be the first
    /// sign that the lease was revoked.
    async fn watch(&mut self, own: u64, key: Vec<u8>, from: u64) -> Option<WaiterAction<Vec<u8>>> {
        let channel = self.session.channel().clone();
        loop {
            let mut watcher =
                Watcher::of_key(channel.clone(), &key, from).with_deletion_of(&self.key);
            if self.hand_over == HandOverEvent::OnRelease {
                watcher = watcher.with_release_events(&self.key, own);
            }
            loop {
                match watcher.next().await {
                    WatchEvent::Released => {
                        if let Some(action) = self.waiter.on_released(&key) {
                            return Some(action);
                        }
                    }
                    WatchEvent::Deleted(deleted) if deleted.key == self.key => {
                        return Some(WaiterAction::Removed);
                    }
                    WatchEvent::Deleted(deleted) => {
                        let revision = requests::unsigned(deleted.mod_revision);
                        if let Some(action) = self.waiter.on_deleted(&deleted.key, revision) {
                            self.backoff = Backoff::default();
                            return Some(action);
                        }
                    }
                    WatchEvent::Put(_) => {}
                    WatchEvent::HistoryCompacted => return self.waiter.on_history_compacted(),
                    WatchEvent::Rejected => {
                        sleep(self.backoff.next_pause()).await;
                        return self.waiter.on_history_compacted();
                    }
                    WatchEvent::Disconnected => break,
                }
            }
            sleep(self.backoff.next_pause()).await;
        }
    }

    /// Converts an entry that is first in its queue into a claim.
    pub(crate) fn into_claim(mut self, fence: u64) -> Claim {
        self.has_possible_key = false;
        metrics::record_lock_wait(self.started.elapsed());
        spans::record_acquired(&self.span, fence);
        let (session, key) = (self.session.clone(), std::mem::take(&mut self.key));
        Claim::new(session, key, fence, self.can_reappear).with_record_key(self.record_key.take())
    }
}

impl Drop for QueueEntry {
    fn drop(&mut self) {
        let request = match self.request.take() {
            Some(EnqueueRequest::Prepared(_, releases)) => {
                let runtime = self.session.runtime();
                return releases.into_iter().for_each(|it| it.finish_in_background(false, runtime));
            }
            Some(EnqueueRequest::Sent(request)) => Some(request),
            None => None,
        };
        if !self.has_possible_key {
            return;
        }
        let (session, key) = (self.session.clone(), std::mem::take(&mut self.key));
        let (record_key, mut can_reappear) = (self.record_key.take(), self.can_reappear);
        let runtime = session.runtime().clone();
        runtime.spawn(async move {
            if let Some(request) = request {
                can_reappear = request.await.1;
            }
            let release = session.pending_release(key, 0, can_reappear).with_record_key(record_key);
            release.finish_in_background(false, session.runtime());
        });
    }
}

/// Reads the caller's own key, and finds the newest key of the queue that was created in
/// `max_create_revision` or earlier. A `max_create_revision` of 0 means any revision. If `since` is
/// not 0, any member may serve the read from its own state, so the result may be outdated.
///
/// The range of keys may also contain keys of other locks. If a read returns only such keys, the
/// function reads the next older keys of the range. The reads need not use the same revision of the
/// store: the revision of the view is the lowest of their revisions. A key that was created after
/// this revision may be missing in the view.
///
/// # Errors
///
/// [`ClientError::Unavailable`] if the session ends while no member responds.
/// [`ClientError::Rejected`] if the service rejects a read, or if one revision created more keys
/// than fit into a response.
pub(crate) async fn find_predecessor(
    session: &Session,
    name: &str,
    key: &[u8],
    mut max_create_revision: u64,
    since: u64,
) -> Result<QueueView<Vec<u8>>, ClientError> {
    let channel = session.channel();
    let (mut limit, mut revision) = (ReadLimit::new(), u64::MAX);
    loop {
        let range = requests::QueueRange { name, max_create_revision, limit: limit.keys };
        let read = requests::read_queue_txn(key, Some(range));
        let request = if since > 0 { requests::with_serializable_reads(read) } else { read };
        let response = match channel.transact_idempotent(request).await {
            Ok(response) => response,
            Err(ClientError::Unavailable { .. }) if session.loss_reason().is_none() => continue,
            Err(error) if is_too_long(&error) && limit.shrink(&error) => continue,
            Err(error) => return Err(error),
        };
        revision = revision.min(requests::revision(&response));
        match requests::queue_view(&response, key, name, limit.keys) {
            Ok(view) => return Ok(QueueView { revision, ..view }),
            Err(oldest) => {
                // One revision may have created more keys than the limit.
                limit.grow(oldest == max_create_revision)?;
                max_create_revision = oldest;
            }
        }
    }
}

fn is_too_long(error: &ClientError) -> bool {
    matches!(error, ClientError::Rejected { code: Code::OutOfRange | Code::ResourceExhausted, .. })
}

/// Number of keys per read. It grows while reads find no key of the queue, and shrinks when a
/// response is too long.
#[derive(Debug)]
struct ReadLimit {
    keys: i64,
    /// Upper bound on `keys`, and the error of the last response that was too long. `None` if no
    /// response was too long. Without the bound, `keys` could grow and shrink forever.
    bound: Option<(i64, ClientError)>,
}

impl ReadLimit {
    const fn new() -> Self {
        ReadLimit { keys: 1, bound: None }
    }

    /// Halves the limit after a response that was too long. If the limit is 1, does nothing and
    /// returns false.
    fn shrink(&mut self, rejection: &ClientError) -> bool {
        if self.keys == 1 {
            return false;
        }
        self.keys /= 2;
        self.bound = Some((self.keys, rejection.clone()));
        true
    }

    /// Raises the number of keys per read, because a read found no key of the queue. `is_stuck` is
    /// true if the read made no progress, because one revision created more keys than the limit.
    ///
    /// # Errors
    ///
    /// If the read made no progress and the member has rejected a higher limit, returns the
    /// rejection.
    fn grow(&mut self, is_stuck: bool) -> Result<(), ClientError> {
        let keys = if is_stuck { self.keys * 2 } else { (self.keys * 4).min(MAX_KEYS_PER_READ) };
        self.keys = match &self.bound {
            Some((bound, rejection)) if is_stuck && self.keys >= *bound => {
                return Err(rejection.clone());
            }
            Some((bound, _)) => keys.min(*bound),
            None => keys,
        };
        Ok(())
    }
}

/// Creates a key in a queue, and deletes keys that the session has released. Repeats the request
/// while the session is alive. The returned flag is true if the request was sent more than once. In
/// this case, a delayed copy of the request may create the key again.
async fn enqueue(
    session: Session,
    name: String,
    key: Vec<u8>,
    request: rpc::TxnRequest,
    releases: Vec<PendingRelease>,
) -> (Result<Enqueued, ClientError>, bool) {
    let (mut attempts, mut more_attempts) = (0, 0);
    let deletions: Vec<_> = releases.iter().flat_map(PendingRelease::keys_to_delete).collect();
    let has_deletions = !deletions.is_empty();
    let with_deletions = requests::with_deletions(&request, &deletions);
    let mut result = transact_while_alive(&session, with_deletions, &mut attempts).await;
    releases.into_iter().for_each(|it| it.finish_in_background(result.is_ok(), session.runtime()));
    // A rejection may concern only the deletions, so the request is repeated without them.
    if has_deletions && matches!(result, Err(ClientError::Rejected { .. })) {
        result = transact_while_alive(&session, request, &mut more_attempts).await;
    }
    let mut enqueued =
        result.map(|response| match requests::queue_view(&response, &key, &name, 1) {
            Ok(view) => Enqueued { is_new: requests::has_created_key(&response, &key), view },
            Err(_) => Enqueued {
                is_new: false,
                view: requests::view_without_predecessor(&response, &key),
            },
        });
    let can_reappear = attempts.max(more_attempts) > 1;
    // An earlier copy of the request created the key, and the response contains only keys that came
    // later. The next request therefore reads the key itself.
    if can_reappear
        && matches!(
            &enqueued,
            Ok(Enqueued { view: QueueView { own_create_revision: None, .. }, .. })
        )
    {
        let read = requests::read_queue_txn(&key, None);
        let result = transact_while_alive(&session, read, &mut more_attempts).await;
        enqueued = result.map(|response| Enqueued {
            view: requests::view_without_predecessor(&response, &key),
            is_new: false,
        });
    }
    (enqueued, can_reappear)
}

/// Sends a transaction repeatedly until a member executes or rejects it, or the session has ended.
/// Adds the number of attempts to `attempts`.
pub(crate) async fn transact_while_alive(
    session: &Session,
    request: rpc::TxnRequest,
    attempts: &mut u32,
) -> Result<rpc::TxnResponse, ClientError> {
    loop {
        session.check_alive()?;
        match session.channel().transact_counting_attempts(request.clone(), attempts).await {
            Err(ClientError::Unavailable { .. }) if session.loss_reason().is_none() => {}
            response => return response,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;
    use crate::client::Client;
    use crate::error::LossReason;
    use crate::test_member::start_member;
    use crate::transport::channel::Channel;

    /// Writes a key, and returns the revision of the write.
    async fn write(channel: &Channel) -> u64 {
        let put = requests::op(requests::put(b"other", Vec::new(), 0));
        let txn = rpc::TxnRequest { success: vec![put], ..Default::default() };
        requests::revision(&channel.transact_idempotent(txn).await.expect("a response"))
    }

    #[tokio::test]
    async fn unsent_request_and_lost_session_create_no_key() {
        let (_folder, address) = start_member().await;
        let client = Client::connect([&address]).await.expect("a connection");
        let session = client.session(Duration::from_secs(60)).await.expect("a session");
        let channel = session.channel().clone();
        // The key has no lease, so the service would create it even after the end of the session.
        let entry = || {
            let key = session.new_claim_key("a");
            let request = requests::enqueue_txn("a", &key, Vec::new(), 0);
            QueueEntry::prepare(&session, "a", key, request)
        };
        let before = write(&channel).await;
        drop(entry());
        // Background tasks send their requests during the first write.
        assert_eq!((write(&channel).await, write(&channel).await), (before + 1, before + 2));
        // The dropped entry includes the release of this guard.
        let guard = session.lock("released").await.expect("the lock");
        let read = requests::read_queue_txn(guard.key(), None);
        drop(guard);
        drop(entry());
        let released = async {
            let read = || channel.transact_idempotent(read.clone());
            while requests::key_values(&read().await.expect("a response")).next().is_some() {}
        };
        timeout(Duration::from_secs(120), released).await.expect("the guard is released");

        session.close().await.expect("revoked");
        let lost = ClientError::Lost(LossReason::Closed);
        let before = write(&channel).await;
        assert_eq!(entry().wait_for_create_revision().await, Err(lost.clone()));
        assert_eq!((write(&channel).await, write(&channel).await), (before + 1, before + 2));
        assert_eq!(session.lock("a").await.err(), Some(lost.clone()));
        assert_eq!(session.try_lock("a").await.err(), Some(lost));
    }

    /// Simulates reads of a range with 1,000 keys. One revision created all of these keys, and none
    /// of them belongs to the queue. The member rejects responses with more than `max_response`
    /// keys. Returns true if the last read contains all keys, and false if the search fails.
    fn search(max_response: i64) -> bool {
        let message = "the response is too long".to_owned();
        let rejection = ClientError::Rejected { code: Code::OutOfRange, message };
        let (mut limit, mut is_stuck) = (ReadLimit::new(), false);
        for _ in 0..100 {
            if limit.keys > max_response {
                assert!(limit.shrink(&rejection));
            } else if limit.keys > 1_000 {
                return true;
            } else if limit.grow(is_stuck).is_err() {
                return false;
            } else {
                is_stuck = true;
            }
        }
        panic!("the search does not end");
    }

    #[test]
    fn search_ends_even_if_a_revision_exceeds_a_response() {
        assert!(search(i64::MAX) && search(5_000));
        assert!(!search(10) && !search(1_000));
    }
}
