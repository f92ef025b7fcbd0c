//! Limits the number of client connections. At the limit, the connections that have been idle for
//! longest are closed.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use rustix::process::{Resource, getrlimit};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{sleep, timeout};
use tonic::body::Body;
use tracing::warn;

const MAX_CONNECTIONS: usize = 20_000;

/// Upper bound on the connections to the listeners for metrics and health.
const MAX_METRICS_CONNECTIONS: usize = 64;

/// Number of file descriptors that are reserved for files and for connections to other members. A
/// process that may open fewer than 512 descriptors reserves half of them.
const RESERVED_DESCRIPTORS: usize = 256;

/// Interval at which the server asks one more idle connection to close, while a new connection
/// waits for a slot.
const CLOSE_INTERVAL: Duration = Duration::from_millis(100);

const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// Limit on the number of connections, and counters of failed connections.
#[derive(Debug)]
pub(crate) struct ConnectionLimiter {
    slots: Arc<Semaphore>,
    /// Number of slots for connections, in use or free.
    capacity: usize,
    idle: Arc<Mutex<IdleQueue>>,
    /// Number of connections whose TLS handshake failed or took too long.
    pub(crate) failed_handshake_count: AtomicU64,
    /// Number of connections that the server closed because of malformed input.
    pub(crate) malformed_connection_count: AtomicU64,
    /// Time at which a failed connection was last logged. `None`: never.
    last_logged: Mutex<Option<Instant>>,
    phase: watch::Sender<ConnectionPhase>,
}

/// Phase of all connections of a [`ConnectionLimiter`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum ConnectionPhase {
    #[default]
    Open,
    /// Each connection closes when its calls have ended.
    Closing,
    /// Each connection closes at once.
    Cut,
}

/// Connections without active calls, in the order of their idle times. The connection that has been
/// idle for the longest time is first.
#[derive(Debug, Default)]
struct IdleQueue {
    last_position: u64,
    by_position: BTreeMap<u64, Arc<Notify>>,
}

impl ConnectionLimiter {
    /// Creates the limiter of the connections of clients.
    pub(crate) fn for_clients() -> Self {
        ConnectionLimiter::new(max_connections(max_descriptors()))
    }

    /// Creates the limiter of the connections to the listeners for metrics and health. Clients
    /// cannot use up its slots, so a health probe is answered even if there are too many clients.
    pub(crate) fn for_metrics() -> Self {
        ConnectionLimiter::new(max_metrics_connections(max_descriptors()))
    }

    pub(crate) fn new(capacity: usize) -> Self {
        ConnectionLimiter {
            slots: Arc::new(Semaphore::new(capacity)),
            capacity,
            idle: Arc::default(),
            failed_handshake_count: AtomicU64::new(0),
            malformed_connection_count: AtomicU64::new(0),
            last_logged: Mutex::default(),
            phase: watch::Sender::default(),
        }
    }

    /// Asks all connections to close once their calls have ended.
    pub(crate) fn request_close_of_all(&self) {
        self.phase.send_replace(ConnectionPhase::Closing);
    }

    /// Resolves when all connections must close.
    pub(crate) fn wait_until_close_of_all_requested(&self) -> impl Future<Output = ()> + use<> {
        let mut phase = self.phase.subscribe();
        // The sender lives as long as the member.
        async move { drop(phase.wait_for(|phase| *phase >= ConnectionPhase::Closing).await) }
    }

    /// Closes all connections. Waits until they have completed their calls, but at most for
    /// `limit`. Then cuts the connections that are still open.
    pub(crate) async fn close_all(&self, limit: Duration) {
        self.request_close_of_all();
        let all = u32::try_from(self.capacity).unwrap_or(u32::MAX);
        let _ = timeout(limit, self.slots.acquire_many(all)).await;
        self.phase.send_replace(ConnectionPhase::Cut);
    }

    pub(crate) fn count(&self) -> usize {
        self.capacity - self.slots.available_permits()
    }

    /// Waits for a slot for a new connection.
    ///
    /// While no slot is free, the server repeatedly closes a connection without active calls. It
    /// chooses the connection that has been idle for the longest time.
    pub(crate) async fn acquire_slot(&self) -> OwnedSemaphorePermit {
        loop {
            let slots = self.slots.clone();
            if let Ok(slot) = slots.clone().try_acquire_owned() {
                return slot;
            }
            if let Some((_, close)) = lock(&self.idle).by_position.pop_first() {
                close.notify_one();
            }
            if let Ok(slot) = timeout(CLOSE_INTERVAL, slots.acquire_owned()).await {
                return slot.expect("the semaphore is never closed");
            }
        }
    }

    /// Begins to track a connection, and adds it to the idle queue, because it has no active call
    /// yet. The slot of the connection comes from [`ConnectionLimiter::acquire_slot`].
    pub(crate) fn track_connection(&self) -> Arc<TrackedConnection> {
        let connection = TrackedConnection {
            idle: self.idle.clone(),
            close: Arc::default(),
            phase: self.phase.subscribe(),
            calls: Mutex::default(),
        };
        connection.mark_idle(&mut lock(&connection.calls));
        Arc::new(connection)
    }

    /// Adds 1 to `failure_counter`, a counter of failed connections. Logs the failure, unless
    /// another failure was logged less than a second ago.
    pub(crate) fn record_failure(
        &self,
        failure_counter: &AtomicU64,
        peer: SocketAddr,
        why: &dyn Display,
    ) {
        let count = failure_counter.fetch_add(1, Ordering::Relaxed) + 1;
        let mut last_logged = lock(&self.last_logged);
        if last_logged.is_none_or(|last_logged| last_logged.elapsed() >= LOG_INTERVAL) {
            *last_logged = Some(Instant::now());
            warn!(%peer, reason = %why, count, "connection rejected");
        }
    }
}

/// Returns the number of file descriptors that this process may open.
fn max_descriptors() -> usize {
    let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(descriptors).unwrap_or(usize::MAX)
}

/// Returns the maximum number of connections for metrics. These connections use at most an eighth
/// of the file descriptors, and at most a quarter of those that the connections of clients leave
/// free.
fn max_metrics_connections(descriptors: usize) -> usize {
    (descriptors / 8).clamp(1, MAX_METRICS_CONNECTIONS)
}

fn max_connections(descriptors: usize) -> usize {
    descriptors.saturating_sub(RESERVED_DESCRIPTORS).max(descriptors / 2).min(MAX_CONNECTIONS)
}

fn lock<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug)]
pub(crate) struct TrackedConnection {
    idle: Arc<Mutex<IdleQueue>>,
    close: Arc<Notify>,
    phase: watch::Receiver<ConnectionPhase>,
    calls: Mutex<ActiveCalls>,
}

/// Number of active calls of a connection. If the number is 0, `idle_position` is the position of
/// the connection in the idle queue.
#[derive(Debug, Default)]
struct ActiveCalls {
    count: usize,
    idle_position: u64,
}

impl TrackedConnection {
    /// Resolves when this connection must begin to close. A closing connection completes its calls.
    pub(crate) async fn wait_until_close_requested(&self) {
        let mut phase = self.phase.clone();
        tokio::select! {
            () = self.close.notified() => {}
            _ = phase.wait_for(|phase| *phase >= ConnectionPhase::Closing) => {}
        }
    }

    /// Resolves when this closing connection must be cut. This is the case when the connection has
    /// had no active call for `idle_limit`, or when [`ConnectionLimiter::close_all`] has waited
    /// long enough.
    ///
    /// A call may have begun just before the connection was chosen for closing. Such a call
    /// continues.
    pub(crate) async fn wait_until_abort_required(&self, idle_limit: Duration) {
        let mut phase = self.phase.clone();
        tokio::select! {
            () = self.wait_idle(idle_limit) => {}
            _ = phase.wait_for(|phase| *phase == ConnectionPhase::Cut) => {}
        }
    }

    /// Waits until this connection has had no active call during a whole `period`. Checks the
    /// connection only at the ends of periods, so the wait may last up to two periods after the
    /// last call.
    async fn wait_idle(&self, period: Duration) {
        loop {
            let before = self.idle_position();
            sleep(period).await;
            if before.is_some() && self.idle_position() == before {
                return;
            }
        }
    }

    /// Returns the position in the idle queue; `None` while a call is active. The position changes
    /// after each call.
    fn idle_position(&self) -> Option<u64> {
        let calls = lock(&self.calls);
        (calls.count == 0).then_some(calls.idle_position)
    }

    /// Marks the connection as busy until the returned guard is dropped.
    pub(crate) fn begin_call(self: &Arc<Self>) -> CallGuard {
        let mut calls = lock(&self.calls);
        if calls.count == 0 {
            lock(&self.idle).by_position.remove(&calls.idle_position);
        }
        calls.count += 1;
        CallGuard(self.clone())
    }

    fn mark_idle(&self, calls: &mut ActiveCalls) {
        let mut idle = lock(&self.idle);
        idle.last_position += 1;
        calls.idle_position = idle.last_position;
        let position = idle.last_position;
        idle.by_position.insert(position, self.close.clone());
    }
}

impl Drop for TrackedConnection {
    fn drop(&mut self) {
        let position = lock(&self.calls).idle_position;
        lock(&self.idle).by_position.remove(&position);
    }
}

/// Guard of an active call of a connection. The guard is dropped with the body of the response:
/// after the whole body was sent, or when the call was cancelled. The call is then no longer
/// active.
#[derive(Debug)]
pub(crate) struct CallGuard(Arc<TrackedConnection>);

impl Drop for CallGuard {
    fn drop(&mut self) {
        let mut calls = lock(&self.0.calls);
        calls.count -= 1;
        if calls.count == 0 {
            self.0.mark_idle(&mut calls);
        }
    }
}

impl CallGuard {
    pub(crate) fn attach_to(self, body: Body) -> Body {
        // The closure owns the guard, and is dropped with the body.
        Body::new(body.map_err(move |error| {
            let _guard = &self;
            error
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    #[test]
    fn descriptors_are_reserved_for_members_and_files() {
        let reserved = [64, 256, 1024, 1 << 20].map(|all| all - max_connections(all));
        assert_eq!(reserved, [32, 128, RESERVED_DESCRIPTORS, (1 << 20) - MAX_CONNECTIONS]);
        assert_eq!([1, 64, 256, 1024].map(max_metrics_connections), [1, 8, 32, 64]);
    }

    #[tokio::test]
    async fn all_connections_close_at_shutdown_even_new_ones() {
        let limiter = ConnectionLimiter::for_clients();
        let (idle, busy) = (limiter.track_connection(), limiter.track_connection());
        let call = busy.begin_call();
        limiter.request_close_of_all();
        for connection in [idle, busy, limiter.track_connection()] {
            let closing =
                timeout(Duration::from_secs(120), connection.wait_until_close_requested()).await;
            closing.expect("the connection closes");
        }
        drop(call);
    }

    #[tokio::test]
    async fn closing_connection_is_cut_after_its_last_call() {
        let limiter = ConnectionLimiter::for_clients();
        let connection = limiter.track_connection();
        let call = connection.begin_call();
        let mut cut = pin!(connection.wait_until_abort_required(Duration::from_millis(1)));
        let early = timeout(Duration::from_millis(50), cut.as_mut()).await;
        assert!(early.is_err(), "a connection with an active call is cut");
        drop(call);
        timeout(Duration::from_secs(120), cut).await.expect("an idle connection is cut");
    }

    #[tokio::test]
    async fn endless_calls_are_cut_at_shutdown() {
        let limiter = ConnectionLimiter::for_clients();
        let (_slot, connection) = (limiter.acquire_slot().await, limiter.track_connection());
        let _call = connection.begin_call();
        limiter.close_all(Duration::from_millis(1)).await;
        let cut = connection.wait_until_abort_required(Duration::from_secs(3600));
        timeout(Duration::from_secs(120), cut).await.expect("the connection is cut");
    }

    #[tokio::test]
    async fn longest_idle_connection_closes_when_slots_run_out() {
        let slots = Arc::new(Semaphore::new(3));
        let limiter = ConnectionLimiter { slots, capacity: 3, ..ConnectionLimiter::new(1) };
        let mut slots = Vec::new();
        for _ in 0..3 {
            slots.push(limiter.acquire_slot().await);
        }
        let [busy, old, young] =
            [limiter.track_connection(), limiter.track_connection(), limiter.track_connection()];
        let call = busy.begin_call();
        let is_closing = |connection: Arc<TrackedConnection>| async move {
            timeout(Duration::from_millis(1), connection.wait_until_close_requested()).await.is_ok()
        };
        let next = async {
            old.wait_until_close_requested().await;
            assert!(!is_closing(young.clone()).await && !is_closing(busy.clone()).await);
            slots.pop();
        };
        let (slot, ()) = tokio::join!(limiter.acquire_slot(), next);
        slots.push(slot);
        // The busy connection becomes idle now, later than `young`.
        drop(call);
        let next = async {
            young.wait_until_close_requested().await;
            assert!(!is_closing(busy.clone()).await);
            slots.pop();
        };
        drop(tokio::join!(limiter.acquire_slot(), next));
        drop((old, young, busy));
        assert!(lock(&limiter.idle).by_position.is_empty());
    }
}
