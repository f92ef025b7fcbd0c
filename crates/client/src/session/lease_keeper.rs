//! The task that renews the lease of a session. The state machine in the crate `tenure-session`
//! makes the decisions. This task provides the clock and sends the requests.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::frames;
use tenure_session::{DeadlineTimer, SessionAction, Timer};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout_at};
use tonic::Code;
use tracing::Instrument;

use crate::clock::suspend_aware_now;
use crate::error::{ClientError, LossReason};
use crate::telemetry::{metrics, spans};
use crate::transport::REQUEST_TIMEOUT;
use crate::transport::channel::Channel;
use crate::transport::retry::{Backoff, no_response_status};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SessionState {
    /// The session is alive until its deadline.
    Active { deadline: Instant },
    /// The owner has closed the session, and the lease is being revoked.
    Closing,
    /// The session has ended.
    Ended(SessionEnd),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionEnd {
    reason: LossReason,
    /// Error of the request to revoke the lease, if it failed.
    failure: Option<ClientError>,
}

impl SessionState {
    /// Returns the reason why the session has ended. While it has not ended, returns
    /// [`LossReason::Closed`].
    pub(crate) const fn end_reason_or_closed(&self) -> LossReason {
        match self {
            SessionState::Ended(SessionEnd { reason, .. }) => *reason,
            SessionState::Active { .. } | SessionState::Closing => LossReason::Closed,
        }
    }

    /// Returns the reason why the session has ended. Returns `None` while the session is active and
    /// its deadline has not passed.
    pub(crate) fn end_reason(&self) -> Option<LossReason> {
        match self {
            SessionState::Active { deadline } => {
                (*deadline <= suspend_aware_now()).then_some(LossReason::NotRenewed)
            }
            ended => Some(ended.end_reason_or_closed()),
        }
    }

    /// Returns the error with which closing the session failed; `None` if the session has ended
    /// without such an error. While the session has not ended, returns
    /// [`ClientError::Unavailable`].
    pub(crate) fn close_error(&self) -> Option<ClientError> {
        match self {
            SessionState::Ended(end) => end.failure.clone(),
            SessionState::Active { .. } | SessionState::Closing => Some(ClientError::Unavailable {
                endpoints: "the service".into(),
                reason: "no member confirmed the end of the lease".into(),
            }),
        }
    }
}

/// Request to end the session, sent to its lease keeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndRequest {
    /// The owner closes the session.
    Close,
    /// The service has no lease for the session any more.
    LeaseNotFound,
}

/// Result of one renewal request.
#[derive(Clone, Copy, Debug)]
enum RenewalResult {
    Renewed,
    LeaseNotFound,
    /// No member confirmed the renewal in time. A rejection of the request counts as no response.
    NoResponse,
}

impl RenewalResult {
    const fn label(self) -> &'static str {
        match self {
            RenewalResult::Renewed => "renewed",
            RenewalResult::LeaseNotFound => "lease_not_found",
            RenewalResult::NoResponse => "no_response",
        }
    }
}

type RenewalFuture = BoxFuture<'static, RenewalResult>;

pub(crate) struct LeaseKeeper {
    channel: Arc<Channel>,
    lease: i64,
    times: tenure_session::SessionDurations,
    session: tenure_session::Session,
    /// Times at which the two deadline timers of the session fire. The first element belongs to
    /// [`DeadlineTimer::Left`] and the second to [`DeadlineTimer::Right`]. `None` for a timer that
    /// is not armed.
    deadlines: [Option<Instant>; 2],
    /// Time at which the next renewal is sent; `None` if no renewal is scheduled.
    renewal: Option<Instant>,
    /// Pending renewal, with the number that [`SessionAction::Renew`] gave to the renewal.
    pending: Option<(u64, RenewalFuture)>,
    backoff: Backoff,
    state: watch::Sender<SessionState>,
}

impl LeaseKeeper {
    /// Creates a keeper for a lease that the service granted. The request for the lease was sent at
    /// `request_sent_at`. Returns `None` if the lease may have expired already.
    pub(crate) fn new(
        channel: Arc<Channel>,
        lease: i64,
        times: tenure_session::SessionDurations,
        request_sent_at: Instant,
    ) -> Option<(LeaseKeeper, watch::Receiver<SessionState>)> {
        let (state, receiver) = watch::channel(SessionState::Active { deadline: request_sent_at });
        let mut keeper = LeaseKeeper {
            channel,
            lease,
            times,
            session: tenure_session::Session::new(u64::MAX),
            deadlines: [None; 2],
            renewal: None,
            pending: None,
            backoff: Backoff::default(),
            state,
        };
        let actions = keeper.session.renew(&times);
        keeper.perform(actions, request_sent_at);
        // The grant of the lease is treated as the first renewal, which has succeeded.
        keeper.pending = None;
        keeper.fire_deadlines();
        let actions = keeper.session.on_response(keeper.session.last_request_number());
        keeper.perform(actions, request_sent_at);
        keeper.session.is_alive().then_some((keeper, receiver))
    }

    /// Spawns the task that renews the lease. The task ends when the session ends, or when a
    /// request to end the session arrives. If all senders are dropped, the task closes the session.
    pub(crate) fn start(self, end: mpsc::Receiver<EndRequest>) {
        let span = spans::session(self.lease, Duration::from_nanos(self.times.ttl));
        metrics::session_started();
        tokio::spawn(self.run(end).instrument(span));
    }

    async fn run(mut self, mut end: mpsc::Receiver<EndRequest>) {
        while self.session.end_reason().is_none() {
            // A deadline that has passed is handled before all events. If this process was
            // suspended, a late response must not prolong the session.
            if self.fire_deadlines() {
                continue;
            }
            let timers = self.deadlines.into_iter().chain([self.renewal]).flatten();
            let next = timers.min().unwrap_or_else(|| suspend_aware_now() + REQUEST_TIMEOUT);
            let renewal = async {
                match &mut self.pending {
                    Some((round, renewal)) => (*round, renewal.await),
                    None => std::future::pending().await,
                }
            };
            let suspension_notifier = self.channel.suspension_notifier.clone();
            tokio::select! {
                biased;
                () = suspension_notifier.sleep_until(next) => self.fire_renewal(),
                request = end.recv() => {
                    let actions = match request {
                        Some(EndRequest::Close) | None => self.session.close(),
                        Some(EndRequest::LeaseNotFound) => self.session.on_lease_ended(),
                    };
                    self.perform(actions, suspend_aware_now());
                }
                (round, result) = renewal => {
                    self.pending = None;
                    self.fire_deadlines();
                    self.on_result(round, &result);
                }
            }
        }
        let reason = self.session.end_reason().map_or(LossReason::Closed, LossReason::from);
        self.end(reason).await;
    }

    fn on_result(&mut self, round: u64, result: &RenewalResult) {
        let now = suspend_aware_now();
        let actions = match result {
            RenewalResult::Renewed => {
                self.backoff = Backoff::default();
                self.session.on_response(round)
            }
            RenewalResult::LeaseNotFound => self.session.on_lease_ended(),
            RenewalResult::NoResponse => {
                // The next renewal is sent soon, to another member.
                let soon = now + self.backoff.next_pause();
                self.renewal = self.renewal.map(|due| due.min(soon));
                Vec::new()
            }
        };
        self.perform(actions, now);
    }

    /// Fires the deadline timers that are due. Returns true if at least one timer has fired.
    fn fire_deadlines(&mut self) -> bool {
        let now = suspend_aware_now();
        let mut has_fired = false;
        for (index, side) in [(0, DeadlineTimer::Left), (1, DeadlineTimer::Right)] {
            if self.deadlines[index].take_if(|deadline| *deadline <= now).is_some() {
                let actions = self.session.on_timer(Timer::Deadline(side), &self.times);
                self.perform(actions, now);
                has_fired = true;
            }
        }
        has_fired
    }

    fn fire_renewal(&mut self) {
        let now = suspend_aware_now();
        if self.renewal.take_if(|due| *due <= now).is_some() {
            let actions = self.session.on_timer(Timer::Renewal, &self.times);
            self.perform(actions, now);
        }
    }

    /// Performs the actions that the state machine of the crate `tenure-session` has returned. The
    /// timers that the actions arm start at `from`.
    fn perform(&mut self, actions: Vec<SessionAction>, from: Instant) {
        for action in actions {
            match action {
                SessionAction::Arm(Timer::Deadline(side), after) => {
                    self.deadlines[index(side)] = Some(from + Duration::from_nanos(after));
                }
                SessionAction::Arm(Timer::Renewal, after) => {
                    self.renewal = Some(from + Duration::from_nanos(after));
                }
                SessionAction::Disarm(Timer::Deadline(side)) => self.deadlines[index(side)] = None,
                SessionAction::Disarm(Timer::Renewal) => self.renewal = None,
                SessionAction::Renew { round } => self.pending = Some((round, self.renew())),
                SessionAction::Alive | SessionAction::Lost(_) => {}
            }
        }
        let deadline =
            self.session.confirmed_deadline_timer().and_then(|side| self.deadlines[index(side)]);
        if let Some(deadline) = deadline {
            self.state.send_replace(SessionState::Active { deadline });
        }
    }

    /// Returns a future that sends a renewal to one member. If the member does not respond within a
    /// quarter of the TTL, or responds with an error, the future abandons the connection.
    fn renew(&self) -> RenewalFuture {
        let (channel, id) = (self.channel.clone(), self.lease);
        let timeout = Duration::from_nanos(self.times.ttl / 4);
        Box::pin(async move {
            let sent = Instant::now();
            let result = send_renewal(channel, id, timeout).await;
            let is_answered = !matches!(result, RenewalResult::NoResponse);
            metrics::renewal_finished(result.label(), is_answered.then(|| sent.elapsed()));
            tracing::debug!(result = result.label(), "renewal");
            result
        })
    }

    /// Publishes the end of the session. If the program closed the session, first revokes the
    /// lease.
    async fn end(self, reason: LossReason) {
        let mut failure = None;
        match reason {
            LossReason::Closed => {
                self.state.send_replace(SessionState::Closing);
                let request = rpc::LeaseRevokeRequest { id: self.lease };
                let path = "/etcdserverpb.Lease/LeaseRevoke";
                let deadline = Instant::now() + REQUEST_TIMEOUT;
                let revoked: Result<rpc::LeaseRevokeResponse, _> =
                    self.channel.call_idempotent(path, request, deadline).await;
                failure = match revoked {
                    // An earlier attempt may have revoked the lease.
                    Ok(_) | Err(ClientError::Rejected { code: Code::NotFound, .. }) => None,
                    Err(error) => Some(error),
                };
            }
            // The lease may still exist at the service. It is not revoked, because work that the
            // client does under the lock may need the rest of the TTL to stop.
            LossReason::NotRenewed
            | LossReason::LeaseEnded
            | LossReason::KeyDeleted
            | LossReason::AccessDenied => {}
        }
        metrics::session_ended(reason);
        match reason {
            LossReason::Closed => tracing::debug!("session closed"),
            reason => tracing::warn!(%reason, "session lost"),
        }
        self.state.send_replace(SessionState::Ended(SessionEnd { reason, failure }));
    }
}

async fn send_renewal(channel: Arc<Channel>, id: i64, timeout: Duration) -> RenewalResult {
    let deadline = Instant::now() + timeout;
    let Ok(connection) = channel.get_or_connect(deadline).await else {
        return RenewalResult::NoResponse;
    };
    // The request has its own time limit, because connecting may have used up the first limit.
    let deadline = Instant::now() + timeout;
    let path = "/etcdserverpb.Lease/LeaseKeepAlive";
    let request = rpc::LeaseKeepAliveRequest { id };
    let response = connection.request_first_response(path, frames::encode(&request));
    let response = tokio::select! {
        response = timeout_at(deadline, response) => response,
        () = connection.wait_until_abandoned() => return RenewalResult::NoResponse,
    };
    let response = response.unwrap_or_else(|_| Err(no_response_status()));
    let rpc::LeaseKeepAliveResponse { header, ttl, .. } = match response.and_then(frames::decode) {
        Ok(response) => response,
        Err(status) => {
            channel.failures.record(connection.address(), &status);
            connection.abandon();
            return RenewalResult::NoResponse;
        }
    };
    channel.failures.clear();
    channel.start_due_leader_search(header.as_ref());
    match ttl > 0 {
        true => RenewalResult::Renewed,
        false => RenewalResult::LeaseNotFound,
    }
}

const fn index(side: DeadlineTimer) -> usize {
    match side {
        DeadlineTimer::Left => 0,
        DeadlineTimer::Right => 1,
    }
}
