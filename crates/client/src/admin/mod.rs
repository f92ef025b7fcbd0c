//! Administrative calls to a service. If a call fails at one endpoint, the client tries further
//! endpoints, as the [`RetryPolicy`] of the call allows.

pub(crate) mod calls;
mod claims;

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use tenure_etcd::etcdserverpb::{SnapshotRequest, SnapshotResponse};
use tenure_etcd::frames;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tonic::{Code, Status};

use crate::error::ClientError;
use crate::options::ConnectOptions;
use crate::transport::NEXT_ENDPOINT_DELAY;
use crate::transport::connection::{Connection, ResponseStream, connect_without_authentication};
use crate::transport::endpoint::Endpoint;
use crate::transport::retry::{
    Backoff, RetryAction, no_response_status, rejected_error, retry_action,
};

/// Time within which a call must succeed, over all attempts.
const CALL_TIMEOUT: Duration = Duration::from_secs(15);

/// Time without a response after which a call with [`RetryPolicy::Hedge`] is also sent to another
/// member.
const READ_DELAY: Duration = Duration::from_millis(750);

/// Maximum number of repetitions of one call after temporary failures and rejected tokens.
const MAX_REPEATS: u32 = 20;

/// Upper bound on the bytes of a response. Responses of a member of Tenure have at most 64 MiB,
/// which is less than this bound.
const MAX_RESPONSE_BYTES: usize = 65 << 20;

/// Time within which the member must send the next message of a snapshot. After this time, the call
/// fails.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(30);

/// A call that has ended: the index of the endpoint, the connection, and the response.
type FinishedCall = (usize, Arc<Connection>, Result<Bytes, Status>);

/// Rule by which the client repeats a call after it has sent the call to a member. If the client
/// cannot connect to an endpoint, it tries the next endpoint under every rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetryPolicy {
    /// Send the call only once, unless a member rejects the token of the user.
    Never,
    /// If an attempt fails, send the call again. If the cause is temporary, the same member
    /// receives the call again. Otherwise, another member receives the call.
    AfterFailure,
    /// Hedging: repeat the call as with `AfterFailure`. In addition, send the call to another
    /// member whenever no member has responded for [`READ_DELAY`], and use the first response.
    Hedge,
}

/// Client for administrative calls, which concern the members, keys, leases and snapshots of a
/// service.
///
/// A call goes first to the endpoint that responded last, and then to the other endpoints in their
/// order. If an endpoint accepts no connection within a quarter of a second, the client tries the
/// next endpoint in parallel. The client does the same if an endpoint accepts the connection and
/// then sends nothing, as a suspended process does.
///
/// A call ends with the first response, or with a rejection that every member would repeat. If the
/// client cannot connect to an endpoint, the call continues at the other endpoints. If an endpoint
/// rejects the user, the client tries no further endpoint, but still waits for the endpoints that
/// it has already tried.
#[derive(Debug)]
pub struct AdminClient {
    endpoints: Vec<Endpoint>,
    options: ConnectOptions,
    /// Connection over which the last response arrived, with the index of its endpoint. `None`
    /// before the first response.
    open: Mutex<Option<(usize, Arc<Connection>)>>,
}

impl AdminClient {
    /// Creates a client of the service at these endpoints. The first call opens the connection.
    ///
    /// # Errors
    ///
    /// [`ClientError::InvalidEndpoint`] for an invalid URL, and
    /// [`ClientError::MissingCertificates`] for an `https` endpoint without certificates.
    pub fn new(
        endpoints: impl IntoIterator<Item: AsRef<str>>,
        options: impl Into<ConnectOptions>,
    ) -> Result<AdminClient, ClientError> {
        let options = ConnectOptions { max_response: Some(MAX_RESPONSE_BYTES), ..options.into() };
        let endpoints = Endpoint::parse_all(endpoints, &options)?;
        Ok(AdminClient { endpoints, options, open: Mutex::default() })
    }

    /// Creates a client for other endpoints. The new client has the user and the certificates of
    /// this client.
    ///
    /// # Errors
    ///
    /// As [`AdminClient::new`].
    pub fn with_endpoints(
        &self,
        endpoints: impl IntoIterator<Item: AsRef<str>>,
    ) -> Result<AdminClient, ClientError> {
        AdminClient::new(endpoints, self.options.clone())
    }

    /// Returns a client of the same endpoints that does not authenticate. Returns `None` if this
    /// client has no user.
    ///
    /// A member without a quorum verifies no password, so that every call of a client with a user
    /// fails. Some calls need no user, such as [`AdminClient::status`] at a member of Tenure.
    pub fn without_user(&self) -> Option<AdminClient> {
        self.options.user.as_ref()?;
        let options = ConnectOptions { user: None, ..self.options.clone() };
        Some(AdminClient { endpoints: self.endpoints.clone(), options, open: Mutex::default() })
    }

    /// Sends a unary call, and returns the decoded response of the first member that responds.
    pub(crate) async fn call<Response: Message + Default>(
        &self,
        path: &'static str,
        request: impl Message,
        policy: RetryPolicy,
    ) -> Result<Response, ClientError> {
        let response = self.exchange(path, frames::encode(&request), policy, &mut 0).await?;
        frames::decode(response).map_err(|status| rejected_error(&status))
    }

    /// Sends a unary call like [`AdminClient::call`], with the policy
    /// [`RetryPolicy::AfterFailure`]. Adds to `unknown` the number of attempts that failed although
    /// they may have taken effect.
    pub(crate) async fn call_counting_unknown<Response: Message + Default>(
        &self,
        path: &'static str,
        request: impl Message,
        unknown: &mut u32,
    ) -> Result<Response, ClientError> {
        let (request, policy) = (frames::encode(&request), RetryPolicy::AfterFailure);
        let response = self.exchange(path, request, policy, unknown).await?;
        frames::decode(response).map_err(|status| rejected_error(&status))
    }

    async fn exchange(
        &self,
        path: &'static str,
        request: Bytes,
        policy: RetryPolicy,
        unknown: &mut u32,
    ) -> Result<Bytes, ClientError> {
        let deadline = Instant::now() + CALL_TIMEOUT;
        let (mut untried, mut failures) = (self.endpoint_order(), Failures::default());
        let (mut pending, mut backoff, mut repeats) = (JoinSet::new(), Backoff::default(), 0);
        let mut finished = Vec::new();
        loop {
            let connecting = self.connect(&mut untried, &mut failures);
            let connected = connect_during_calls(connecting, &mut pending, &mut finished).await;
            if let Some((place, connection)) = connected {
                pending.spawn(call(place, connection, path, request.clone(), deadline));
            }
            let can_hedge = policy == RetryPolicy::Hedge && !untried.is_empty();
            let until = if can_hedge { Instant::now() + READ_DELAY } else { deadline };
            let ended = match finished.pop() {
                Some(call) => Ok(Some(Ok(call))),
                None => timeout_at(until, pending.join_next()).await,
            };
            let (place, connection, status) = match ended {
                Ok(Some(Ok((place, connection, Ok(response))))) => {
                    *self.open() = Some((place, connection));
                    return Ok(response);
                }
                Ok(Some(Ok((place, connection, Err(status))))) => (place, connection, status),
                Ok(Some(Err(_))) => continue,
                Ok(None) => return Err(self.error(&failures)),
                Err(_) if can_hedge => continue,
                Err(_) => return Err(self.error(&failures.with(usize::MAX, &no_response_status()))),
            };
            let action = action_after(&status);
            let may_have_effect =
                action != RetryAction::Fail && status.code() != Code::Unauthenticated;
            *unknown += u32::from(may_have_effect);
            match action {
                RetryAction::Fail if is_final(&status) => return Err(rejected_error(&status)),
                RetryAction::Fail => {
                    failures.reject(status);
                    untried.clear();
                }
                _ if policy == RetryPolicy::Never && status.code() != Code::Unauthenticated => {
                    return Err(self.error(&failures.with(place, &status)));
                }
                RetryAction::Retry if repeats < MAX_REPEATS => {
                    repeats += 1;
                    if status.code() == Code::Unauthenticated {
                        // The service may have rejected the token of this connection. A new
                        // connection requests a new token.
                        connection.abandon();
                    }
                    untried.push_back(place);
                    sleep(backoff.next_pause()).await;
                }
                RetryAction::Retry | RetryAction::Failover => {
                    connection.abandon();
                    failures = failures.with(place, &status);
                }
            }
        }
    }

    /// Requests a snapshot of a member's store, and returns once the first message of the snapshot
    /// has arrived. Dropping the future cancels the request.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unavailable`] if no member sends the first message within 30 s, and
    /// [`ClientError::Rejected`] if a member rejects the request.
    pub async fn snapshot(&self) -> Result<SnapshotStream, ClientError> {
        let (mut untried, mut failures) = (self.endpoint_order(), Failures::default());
        while let Some((place, connection)) = self.connect(&mut untried, &mut failures).await {
            let request = frames::encode(&SnapshotRequest {});
            let start = timeout(SNAPSHOT_TIMEOUT, async {
                let path = "/etcdserverpb.Maintenance/Snapshot";
                let mut pieces =
                    connection.server_streaming::<SnapshotResponse>(path, request).await?;
                Ok((pieces.next().await?, pieces))
            });
            let status = match start.await.unwrap_or_else(|_| Err(no_response_status())) {
                Ok((first, pieces)) => {
                    let endpoint = self.endpoints[place].origin().to_string();
                    return Ok(SnapshotStream { endpoint, first, pieces, _connection: connection });
                }
                Err(status) => status,
            };
            if action_after(&status) == RetryAction::Fail {
                return Err(rejected_error(&status));
            }
            failures = failures.with(place, &status);
        }
        Err(self.error(&failures))
    }

    /// Tries the endpoints of `untried` in their order until one accepts the connection and the
    /// user. Returns the connection, with the index of its endpoint. Removes this endpoint and the
    /// failed endpoints from `untried`. Returns `None` if no endpoint accepts the connection and
    /// the user.
    ///
    /// If an endpoint rejects the user, no further endpoints are tried. The function then only
    /// waits for connections that it has already started.
    async fn connect(
        &self,
        untried: &mut VecDeque<usize>,
        failures: &mut Failures,
    ) -> Option<(usize, Arc<Connection>)> {
        if let Some(used) = self.last_connection(untried.front()) {
            untried.pop_front();
            return Some(used);
        }
        let (mut connecting, mut started) = (JoinSet::new(), Vec::new());
        loop {
            if let Some(place) = untried.pop_front() {
                started.push(place);
                let (endpoint, options) = (self.endpoints[place].clone(), self.options.clone());
                connecting.spawn(async move {
                    let start = connect_without_authentication(&endpoint, &options).await;
                    match start {
                        Ok(connection) => (place, connection.into_authenticated(&options).await),
                        Err(status) => (place, Err(status)),
                    }
                });
            }
            let delay = if untried.is_empty() { CALL_TIMEOUT } else { NEXT_ENDPOINT_DELAY };
            let (place, status) = match timeout(delay, connecting.join_next()).await {
                Ok(Some(Ok((place, Ok(connection))))) => {
                    // The pending attempts to connect are dropped, so their endpoints are untried
                    // again.
                    untried.extend(started.into_iter().filter(|it| *it != place));
                    return Some((place, Arc::new(connection)));
                }
                Ok(Some(Ok((place, Err(status))))) => (place, status),
                Ok(None) => return None,
                Ok(Some(Err(_))) | Err(_) => continue,
            };
            started.retain(|it| *it != place);
            if action_after(&status) == RetryAction::Fail {
                failures.reject(status);
                untried.clear();
            } else {
                *failures = std::mem::take(failures).with(place, &status);
            }
        }
    }

    /// Returns the connection over which the last response arrived, if it is open and `place` is
    /// the index of its endpoint.
    fn last_connection(&self, place: Option<&usize>) -> Option<(usize, Arc<Connection>)> {
        let used = self.open().clone()?;
        (Some(&used.0) == place && !used.1.is_closed()).then_some(used)
    }

    /// Returns the indices of all endpoints in cyclic order. The endpoint that responded last comes
    /// first.
    fn endpoint_order(&self) -> VecDeque<usize> {
        let first = self.open().as_ref().map_or(0, |(place, _)| *place);
        let count = self.endpoints.len();
        (first..first + count).map(|place| place % count).collect()
    }

    fn open(&self) -> std::sync::MutexGuard<'_, Option<(usize, Arc<Connection>)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the error of a call that received no response. A recorded rejection has priority
    /// over other failures.
    fn error(&self, Failures { reasons, rejection }: &Failures) -> ClientError {
        if let Some(status) = rejection {
            return rejected_error(status);
        }
        let describe = |(place, reason): &(usize, String)| match self.endpoints.get(*place) {
            Some(endpoint) if self.endpoints.len() > 1 => {
                format!("{}: {reason}", endpoint.address())
            }
            _ => reason.clone(),
        };
        let endpoints = Endpoint::describe_all(&self.endpoints);
        let reasons: Vec<String> = reasons.iter().map(describe).collect();
        ClientError::Unavailable { endpoints, reason: reasons.join("; ") }
    }
}

/// Sends a request over `connection`. `place` is the index of the endpoint to which `connection`
/// leads.
async fn call(
    place: usize,
    connection: Arc<Connection>,
    path: &'static str,
    request: Bytes,
    deadline: Instant,
) -> FinishedCall {
    let within = deadline - Instant::now();
    let response = connection.unary(path, request, within).await;
    (place, connection, response)
}

/// Opens a connection while calls are pending. Adds each call that ends meanwhile to `finished`. If
/// one of these calls has a response, or a rejection for which [`is_final`] returns true, no
/// further connection is necessary, and the function returns `None`. It also returns `None` if no
/// connection can be opened.
async fn connect_during_calls(
    connecting: impl Future<Output = Option<(usize, Arc<Connection>)>>,
    pending: &mut JoinSet<FinishedCall>,
    finished: &mut Vec<FinishedCall>,
) -> Option<(usize, Arc<Connection>)> {
    let mut connecting = pin!(connecting);
    loop {
        tokio::select! {
            biased;
            Some(joined) = pending.join_next() => {
                let Ok(call) = joined else { continue };
                let has_response = call.2.as_ref().err().is_none_or(is_final);
                finished.push(call);
                if has_response {
                    return None;
                }
            }
            connected = &mut connecting => return connected,
        }
    }
}

#[derive(Debug, Default)]
struct Failures {
    /// Reasons why endpoints did not respond, each with the index of the endpoint.
    reasons: Vec<(usize, String)>,
    /// First rejection that another member might not repeat. If no other endpoint responds, the
    /// call fails with this rejection.
    rejection: Option<Status>,
}

impl Failures {
    /// Adds the message of `status` as the reason why the endpoint with the index `place` failed.
    /// The message replaces an earlier reason of the same endpoint.
    fn with(mut self, place: usize, status: &Status) -> Failures {
        self.reasons.retain(|(known, _)| *known != place);
        self.reasons.push((place, status.message().to_owned()));
        self
    }

    /// Stores `status` as the rejection of the call. If a rejection is already stored, does
    /// nothing.
    fn reject(&mut self, status: Status) {
        self.rejection.get_or_insert(status);
    }
}

/// Returns true if every member would reject the call with the same `status`. The reason for such a
/// rejection lies in the call itself or in the replicated state.
///
/// Any other rejection concerns one endpoint only. For example, a lagging member does not know the
/// user's new password, or the program at the endpoint is not a member. Such a rejection does not
/// end a call that is pending at another endpoint.
fn is_final(status: &Status) -> bool {
    let is_transport_error = std::error::Error::source(status).is_some();
    let code = status.code();
    !is_transport_error
        && matches!(
            code,
            Code::InvalidArgument
                | Code::NotFound
                | Code::AlreadyExists
                | Code::PermissionDenied
                | Code::FailedPrecondition
        )
}

fn action_after(status: &Status) -> RetryAction {
    match status.code() {
        Code::Unauthenticated => RetryAction::Retry,
        _ => retry_action(status),
    }
}

/// A snapshot of a store, received in parts.
#[derive(Debug)]
pub struct SnapshotStream {
    endpoint: String,
    first: Option<SnapshotResponse>,
    pieces: ResponseStream<SnapshotResponse>,
    _connection: Arc<Connection>,
}

impl SnapshotStream {
    /// Returns the next part of the snapshot; `None` at its end. Dropping the future loses no part.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unavailable`] if the member sends nothing for 30 s, or if the call ends with
    /// an error.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, ClientError> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first.blob));
        }
        let next = timeout(SNAPSHOT_TIMEOUT, self.pieces.next()).await;
        let next = next.unwrap_or_else(|_| Err(no_response_status())).map_err(|status| {
            ClientError::Unavailable {
                endpoints: self.endpoint.clone(),
                reason: status.message().to_owned(),
            }
        })?;
        Ok(next.map(|piece| piece.blob))
    }
}
