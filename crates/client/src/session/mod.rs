//! Sessions: each consists of a lease, and a task that renews it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure_etcd::etcdserverpb as rpc;
use tenure_session::SessionDurations;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};

use crate::clock::suspend_aware_now;
use crate::error::{ClientError, LossReason};
use crate::session::lease_keeper::{EndRequest, LeaseKeeper, SessionState};
use crate::session::release::{PendingRelease, ReleaseQueue};
use crate::session::released_keys::ReleasedKeys;
use crate::transport::REQUEST_TIMEOUT;
use crate::transport::channel::Channel;

pub(crate) mod lease_keeper;
pub(crate) mod release;
mod released_keys;

/// Assumed maximum error of a clock's rate, in parts per million. It applies to the client's clock
/// and to the service's clock.
const MAX_DRIFT_PPM: u32 = 10_000;

/// A session at a service: a lease that is renewed in the background. Clones share the session. The
/// session is closed once all its clones, guards and leaderships are dropped.
#[derive(Clone, Debug)]
pub struct Session {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    channel: Arc<Channel>,
    id: i64,
    ttl: Duration,
    state: watch::Receiver<SessionState>,
    /// Sender of requests to end the session. Dropping the sender closes the session.
    end: mpsc::Sender<EndRequest>,
    /// Number of keys that [`Session::new_claim_key`] has returned.
    claims: AtomicU64,
    releases: Arc<ReleaseQueue>,
    released_keys: Arc<ReleasedKeys>,
    runtime: Handle,
}

/// Receiver of the deadlines of a session. Each successful renewal sets a new deadline.
#[derive(Clone, Debug)]
pub struct DeadlineChanges {
    state: watch::Receiver<SessionState>,
    last: Option<Instant>,
}

impl DeadlineChanges {
    /// Waits for the next deadline; `None` once the session has ended. The first call returns the
    /// current deadline at once. Later calls skip deadlines that were replaced meanwhile. Dropping
    /// the future loses no deadline.
    pub async fn next(&mut self) -> Option<std::time::Instant> {
        loop {
            self.state.changed().await.ok()?;
            let state = self.state.borrow_and_update().clone();
            let SessionState::Active { deadline } = state else { return None };
            // The state is also set by steps that do not move the deadline.
            if self.last.replace(deadline) != Some(deadline) {
                return valid_until(&state);
            }
        }
    }
}

/// Converts the deadline of a session to the clock of the standard library. Returns `None` if the
/// deadline has passed or the session was closed.
fn valid_until(state: &SessionState) -> Option<std::time::Instant> {
    match *state {
        SessionState::Active { deadline } => {
            // The clock of the standard library is read first. If the process is suspended between
            // the two reads, the computed deadline is too early, which is safe.
            let read_at = std::time::Instant::now();
            let left = deadline.saturating_duration_since(suspend_aware_now());
            (!left.is_zero()).then(|| read_at + left)
        }
        _ => None,
    }
}

impl Session {
    pub(crate) async fn start(
        channel: Arc<Channel>,
        ttl: Duration,
    ) -> Result<Session, ClientError> {
        let seconds = i64::try_from(ttl.as_secs().max(1)).unwrap_or(i64::MAX);
        let deadline = Instant::now() + REQUEST_TIMEOUT;
        loop {
            // The service grants the lease after this moment, so the lease expires at the service
            // after the client's deadline.
            let sent = suspend_aware_now();
            let request = rpc::LeaseGrantRequest { ttl: seconds, id: 0 };
            let granted: rpc::LeaseGrantResponse = channel
                .call_idempotent("/etcdserverpb.Lease/LeaseGrant", request, deadline)
                .await?;
            channel.start_due_leader_search(granted.header.as_ref());
            let ttl = Duration::from_secs(granted.ttl.max(1).unsigned_abs());
            let length = u64::try_from(ttl.as_nanos()).unwrap_or(u64::MAX);
            let times = SessionDurations::new(length, MAX_DRIFT_PPM);
            let (end, requested_end) = mpsc::channel(1);
            let keeper = LeaseKeeper::new(channel.clone(), granted.id, times, sent);
            // A response that took longer than the lease is of no use.
            let Some((keeper, state)) = keeper else { continue };
            keeper.start(requested_end);
            let released_keys = ReleasedKeys::new(channel.clone(), granted.id, state.clone());
            let shared = Shared {
                channel,
                id: granted.id,
                ttl,
                state,
                end,
                claims: AtomicU64::new(0),
                releases: Arc::default(),
                released_keys: Arc::new(released_keys),
                runtime: Handle::current(),
            };
            return Ok(Session { shared: Arc::new(shared) });
        }
    }

    /// Returns the ID of the lease at the service.
    pub fn id(&self) -> i64 {
        self.shared.id
    }

    /// Returns the time to live of the lease, as the service granted it.
    pub fn ttl(&self) -> Duration {
        self.shared.ttl
    }

    /// Returns the time at which the session ends if it is not renewed until then. Returns `None`
    /// if the session has already ended.
    ///
    /// The session ends when 98 % of the TTL have passed since the client sent the last successful
    /// renewal. The other 2 % of the TTL allow for clock drift.
    pub fn deadline(&self) -> Option<std::time::Instant> {
        valid_until(&self.shared.state.borrow())
    }

    /// Returns the receiver of the session's deadlines. Each successful renewal sets a new
    /// deadline.
    pub fn deadline_changes(&self) -> DeadlineChanges {
        let mut state = self.shared.state.clone();
        state.mark_changed();
        DeadlineChanges { state, last: None }
    }

    /// Waits until the session ends, and returns the reason. Resolves at the deadline even if the
    /// client has no connection. Dropping the future has no effect.
    pub async fn lost(&self) -> LossReason {
        let mut states = self.shared.state.clone();
        loop {
            let state = states.borrow_and_update().clone();
            let SessionState::Active { deadline } = state else {
                return state.end_reason_or_closed();
            };
            tokio::select! {
                changed = states.changed() => match changed {
                    Ok(()) => {}
                    Err(_) => return LossReason::Closed,
                },
                () = self.channel().suspension_notifier.sleep_until(deadline) => {
                    // A renewal may have set a later deadline while this task did not run.
                    if let Some(reason) = self.loss_reason() {
                        return reason;
                    }
                }
            }
        }
    }

    /// Returns the reason why the session has ended; `None` while the session is alive.
    pub fn loss_reason(&self) -> Option<LossReason> {
        self.shared.state.borrow().end_reason()
    }

    /// Returns [`ClientError::Lost`] if the session has ended.
    pub(crate) fn check_alive(&self) -> Result<(), ClientError> {
        self.loss_reason().map_or(Ok(()), |reason| Err(reason.into()))
    }

    /// Waits for the future `work`, and returns its result. If the session ends before `work`,
    /// drops `work` and returns the reason for the end as an error.
    pub(crate) async fn while_alive<T>(
        &self,
        work: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<T, ClientError> {
        tokio::select! {
            biased;
            reason = self.lost() => Err(reason.into()),
            result = work => {
                let result = result?;
                // A lock that was granted is valid only if the session is still alive after the
                // grant.
                self.check_alive().map(|()| result)
            }
        }
    }

    /// Ends the session, and all locks and leaderships in it. If the future is dropped after its
    /// first poll, the session still ends, in the background.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unavailable`] if no member confirms the end within ten seconds, and
    /// [`ClientError::Rejected`] if the user has lost the right to write a key of the session. In
    /// both cases, the client no longer renews the lease, so the lease expires.
    pub async fn close(&self) -> Result<(), ClientError> {
        let _ = self.shared.end.try_send(EndRequest::Close);
        let mut states = self.shared.state.clone();
        let ended = states.wait_for(|state| matches!(state, SessionState::Ended(_)));
        // The wait fails only if the keeper has ended. Before its end, the keeper revokes the
        // lease.
        let _ = timeout(REQUEST_TIMEOUT, ended).await;
        self.shared.state.borrow().close_error().map_or(Ok(()), Err)
    }

    /// Returns the reason why a key of this session was deleted. Asks the service for the lease,
    /// because a revoked lease deletes the key as well. The session ends if its lease is gone.
    ///
    /// If no member responds within [`REQUEST_TIMEOUT`], returns [`LossReason::KeyDeleted`], and
    /// the next renewal shows whether the lease exists.
    pub(crate) async fn query_key_deletion_reason(&self) -> LossReason {
        if let Some(reason) = self.loss_reason() {
            return reason;
        }
        let request = rpc::LeaseTimeToLiveRequest { id: self.id(), keys: false };
        let path = "/etcdserverpb.Lease/LeaseTimeToLive";
        let deadline = Instant::now() + REQUEST_TIMEOUT;
        let response: Result<rpc::LeaseTimeToLiveResponse, _> =
            self.channel().call_idempotent(path, request, deadline).await;
        let reason = match response {
            // A negative TTL means that the lease does not exist. A lease that is about to expire
            // has a TTL of 0.
            Ok(response) if response.ttl < 0 => {
                let _ = self.shared.end.try_send(EndRequest::LeaseNotFound);
                LossReason::LeaseEnded
            }
            Ok(_) | Err(_) => LossReason::KeyDeleted,
        };
        self.loss_reason().unwrap_or(reason)
    }

    pub(crate) fn channel(&self) -> &Arc<Channel> {
        &self.shared.channel
    }

    pub(crate) fn release_queue(&self) -> &Arc<ReleaseQueue> {
        &self.shared.releases
    }

    pub(crate) fn pending_release(
        &self,
        key: Vec<u8>,
        fence: u64,
        can_reappear: bool,
    ) -> PendingRelease {
        let (channel, state) = (self.channel().clone(), self.shared.state.clone());
        let released_keys = can_reappear.then(|| self.shared.released_keys.clone());
        PendingRelease::new(channel, state, key, fence, released_keys)
    }

    pub(crate) fn runtime(&self) -> &Handle {
        &self.shared.runtime
    }

    /// Returns a new key for the queue `name`, which no other claim has. The last segment of the
    /// first key of a session is the ID of its lease in hexadecimal digits. Each later key also has
    /// a dot and a number.
    pub(crate) fn new_claim_key(&self, name: &str) -> Vec<u8> {
        match self.shared.claims.fetch_add(1, Ordering::Relaxed) {
            0 => format!("{name}/{:x}", self.shared.id).into_bytes(),
            count => format!("{name}/{:x}.{count}", self.shared.id).into_bytes(),
        }
    }
}
