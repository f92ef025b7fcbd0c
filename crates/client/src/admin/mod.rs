//! Administrative calls: failover among the endpoints of a service.

pub(crate) mod calls;

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
use crate::transport::connection::{Connection, Download, connect};
use crate::transport::endpoint::Endpoint;
use crate::transport::retry::{Backoff, RetryAction, rejected, retry_action};

/// Time within which a call must succeed, over all attempts.
const CALL_TIMEOUT: Duration = Duration::from_secs(15);

/// Delay after which a read is also sent to another member.
const READ_DELAY: Duration = Duration::from_millis(750);

/// Upper bound on repetitions of a call after temporary failures.
const MAX_REPEATS: u32 = 20;

/// Upper bound on the bytes of a response. A member of Tenure sends 64 MiB at most.
const MAX_RESPONSE_BYTES: usize = 65 << 20;

/// Time for the next message of a snapshot to arrive.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(30);

/// A call that has ended: place of the endpoint, connection, and response.
type FinishedCall = (usize, Arc<Connection>, Result<Bytes, Status>);

/// Policy for a call that received no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// The call is sent once.
    Never,
    /// The call is sent to another member after a failure.
    AfterFailure,
    /// The call is also sent to another member while the first one does not respond.
    Read,
}

/// Administrative calls at a service: its members, keys, leases and snapshots.
///
/// The endpoints are tried in their order, and a call goes to the one that responded last. After a
/// quarter of a second without a connection, the next one is tried in parallel. An endpoint that
/// accepts the connection and sends nothing counts as unresponsive: its process is stopped.
#[derive(Debug)]
pub struct Admin {
    endpoints: Vec<Endpoint>,
    options: ConnectOptions,
    /// Connection that was used last, with the place of its endpoint.
    open: Mutex<Option<(usize, Arc<Connection>)>>,
}

impl Admin {
    /// Creates a client of these endpoints. It connects with the first call.
    ///
    /// # Errors
    ///
    /// [`ClientError::InvalidEndpoint`] for an invalid URL, and
    /// [`ClientError::MissingCertificates`] for an `https` endpoint without certificates.
    pub fn new<I>(endpoints: I, options: impl Into<ConnectOptions>) -> Result<Admin, ClientError>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let options = ConnectOptions { max_response: Some(MAX_RESPONSE_BYTES), ..options.into() };
        let endpoints = Endpoint::parse_all(endpoints, &options)?;
        Ok(Admin { endpoints, options, open: Mutex::default() })
    }

    /// Creates a client of other endpoints with the same access.
    ///
    /// # Errors
    ///
    /// As [`Admin::new`].
    pub fn at<I>(&self, endpoints: I) -> Result<Admin, ClientError>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        Admin::new(endpoints, self.options.clone())
    }

    /// Sends a request and returns the response of the first member that has one.
    pub(crate) async fn ask<Request, Response>(
        &self,
        path: &'static str,
        request: Request,
        repeat: Repeat,
    ) -> Result<Response, ClientError>
    where
        Request: Message,
        Response: Message + Default,
    {
        let response = self.exchange(path, frames::encode(&request), repeat).await?;
        frames::decode(response).map_err(|status| rejected(&status))
    }

    async fn exchange(
        &self,
        path: &'static str,
        request: Bytes,
        repeat: Repeat,
    ) -> Result<Bytes, ClientError> {
        let deadline = Instant::now() + CALL_TIMEOUT;
        let (mut untried, mut failures) = (self.order(), Failures::default());
        let (mut pending, mut backoff, mut repeats) = (JoinSet::new(), Backoff::default(), 0);
        let mut finished = Vec::new();
        loop {
            let connecting = self.connect(&mut untried, &mut failures);
            let connected = connect_during_calls(connecting, &mut pending, &mut finished).await?;
            if let Some((place, connection)) = connected {
                let (request, within) = (request.clone(), deadline - Instant::now());
                pending.spawn(async move {
                    let response = timeout(within, connection.unary(path, request, within)).await;
                    (place, connection, response.unwrap_or_else(|_| Err(no_response())))
                });
            }
            let can_hedge = repeat == Repeat::Read && !untried.is_empty();
            let until = if can_hedge { Instant::now() + READ_DELAY } else { deadline };
            let call = match finished.pop() {
                Some(call) => Ok(Some(Ok(call))),
                None => timeout_at(until, pending.join_next()).await,
            };
            let (place, connection, response) = match call {
                Ok(Some(Ok(call))) => call,
                Ok(Some(Err(_))) => continue,
                Ok(None) => return Err(self.unavailable(&failures)),
                Err(_) if can_hedge => continue,
                Err(_) => return Err(self.unavailable(&failures.with(usize::MAX, &no_response()))),
            };
            let status = match response {
                Ok(response) => {
                    *self.open() = Some((place, connection));
                    return Ok(response);
                }
                Err(status) => status,
            };
            match action_after(&status) {
                RetryAction::Fail => return Err(rejected(&status)),
                _ if repeat == Repeat::Never => {
                    return Err(self.unavailable(&failures.with(place, &status)));
                }
                RetryAction::Retry if repeats < MAX_REPEATS => {
                    repeats += 1;
                    if status.code() == Code::Unauthenticated {
                        // A new connection gets a new token.
                        connection.abandon();
                    }
                    untried.push_back(place);
                    sleep(backoff.next()).await;
                }
                RetryAction::Retry | RetryAction::Failover => {
                    connection.abandon();
                    failures = failures.with(place, &status);
                }
            }
        }
    }

    /// Begins a snapshot of the store of a member.
    ///
    /// # Errors
    ///
    /// [`ClientError`], if no member sends the first piece.
    pub async fn snapshot(&self) -> Result<Snapshot, ClientError> {
        let (mut untried, mut failures) = (self.order(), Failures::default());
        while let Some((place, connection)) = self.connect(&mut untried, &mut failures).await? {
            let request = frames::encode(&SnapshotRequest {});
            let start = timeout(SNAPSHOT_TIMEOUT, async {
                let path = "/etcdserverpb.Maintenance/Snapshot";
                let mut pieces = connection.download::<SnapshotResponse>(path, request).await?;
                Ok((pieces.next().await?, pieces))
            });
            let status = match start.await.unwrap_or_else(|_| Err(no_response())) {
                Ok((first, pieces)) => {
                    let endpoint = self.endpoints[place].origin().to_string();
                    return Ok(Snapshot { endpoint, first, pieces, _connection: connection });
                }
                Err(status) => status,
            };
            if action_after(&status) == RetryAction::Fail {
                return Err(rejected(&status));
            }
            failures = failures.with(place, &status);
        }
        Err(self.unavailable(&failures))
    }

    /// Connects to the next endpoint that responds; removes those that were tried from `untried`.
    /// Returns `None` if there is none.
    async fn connect(
        &self,
        untried: &mut VecDeque<usize>,
        failures: &mut Failures,
    ) -> Result<Option<(usize, Arc<Connection>)>, ClientError> {
        if let Some(used) = self.used(untried.front()) {
            untried.pop_front();
            return Ok(Some(used));
        }
        let (mut connecting, mut started) = (JoinSet::new(), Vec::new());
        loop {
            if let Some(place) = untried.pop_front() {
                started.push(place);
                let (endpoint, options) = (self.endpoints[place].clone(), self.options.clone());
                connecting.spawn(async move {
                    let start = connect(&endpoint, &options).await;
                    match start {
                        Ok(connection) => (place, connection.authenticated(&options).await),
                        Err(status) => (place, Err(status)),
                    }
                });
            }
            let delay = if untried.is_empty() { CALL_TIMEOUT } else { NEXT_ENDPOINT_DELAY };
            let (place, status) = match timeout(delay, connecting.join_next()).await {
                Ok(Some(Ok((place, Ok(connection))))) => {
                    // The others may be tried again.
                    untried.extend(started.into_iter().filter(|it| *it != place));
                    return Ok(Some((place, Arc::new(connection))));
                }
                Ok(Some(Ok((place, Err(status))))) => (place, status),
                Ok(None) => return Ok(None),
                Ok(Some(Err(_))) | Err(_) => continue,
            };
            if action_after(&status) == RetryAction::Fail {
                return Err(rejected(&status));
            }
            started.retain(|it| *it != place);
            *failures = std::mem::take(failures).with(place, &status);
        }
    }

    /// Returns the connection that was used last, if it is open and to the endpoint at this place.
    fn used(&self, place: Option<&usize>) -> Option<(usize, Arc<Connection>)> {
        let used = self.open().clone()?;
        (Some(&used.0) == place && !used.1.is_closed()).then_some(used)
    }

    /// Returns the places of all endpoints, the one that was used last first.
    fn order(&self) -> VecDeque<usize> {
        let first = self.open().as_ref().map_or(0, |(place, _)| *place);
        let count = self.endpoints.len();
        (first..first + count).map(|place| place % count).collect()
    }

    fn open(&self) -> std::sync::MutexGuard<'_, Option<(usize, Arc<Connection>)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unavailable(&self, Failures(failures): &Failures) -> ClientError {
        let describe = |(place, reason): &(usize, String)| match self.endpoints.get(*place) {
            Some(endpoint) if self.endpoints.len() > 1 => {
                format!("{}: {reason}", endpoint.address())
            }
            _ => reason.clone(),
        };
        let endpoints = match &self.endpoints[..] {
            [one] => one.address().to_owned(),
            several => format!("any of {} endpoints", several.len()),
        };
        let reasons: Vec<String> = failures.iter().map(describe).collect();
        ClientError::Unavailable { endpoints, reason: reasons.join("; ") }
    }
}

/// Waits for a connection while calls are pending. Calls that end meanwhile are added to
/// `finished`. After a successful call the connection is not needed, so this returns `None`.
async fn connect_during_calls(
    connecting: impl Future<Output = Result<Option<(usize, Arc<Connection>)>, ClientError>>,
    pending: &mut JoinSet<FinishedCall>,
    finished: &mut Vec<FinishedCall>,
) -> Result<Option<(usize, Arc<Connection>)>, ClientError> {
    let mut connecting = pin!(connecting);
    loop {
        tokio::select! {
            biased;
            Some(joined) = pending.join_next() => {
                let Ok(call) = joined else { continue };
                let has_succeeded = call.2.is_ok();
                finished.push(call);
                if has_succeeded {
                    return Ok(None);
                }
            }
            connected = &mut connecting => return connected,
        }
    }
}

/// Failures of endpoints, by their places.
#[derive(Debug, Default)]
struct Failures(Vec<(usize, String)>);

impl Failures {
    /// Adds the reason of a failure. A later reason of the same endpoint replaces it.
    fn with(mut self, place: usize, status: &Status) -> Failures {
        self.0.retain(|(known, _)| *known != place);
        self.0.push((place, status.message().to_owned()));
        self
    }
}

/// Returns the status for a member that does not respond.
fn no_response() -> Status {
    Status::deadline_exceeded("it does not respond")
}

/// Returns the reaction to a failed call.
fn action_after(status: &Status) -> RetryAction {
    match status.code() {
        // The response is too long, and would be again.
        Code::ResourceExhausted if !status.message().contains("too many requests") => {
            RetryAction::Fail
        }
        Code::Unauthenticated => RetryAction::Retry,
        _ => retry_action(status),
    }
}

/// A snapshot while it is received.
#[derive(Debug)]
pub struct Snapshot {
    endpoint: String,
    first: Option<SnapshotResponse>,
    pieces: Download<SnapshotResponse>,
    _connection: Arc<Connection>,
}

impl Snapshot {
    /// Returns the next piece; `None` at the end of the snapshot.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unavailable`] if the member sends nothing for 30 s or ends the call.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, ClientError> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first.blob));
        }
        let next = timeout(SNAPSHOT_TIMEOUT, self.pieces.next()).await;
        let next = next.unwrap_or_else(|_| Err(no_response())).map_err(|status| {
            ClientError::Unavailable {
                endpoints: self.endpoint.clone(),
                reason: status.message().to_owned(),
            }
        })?;
        Ok(next.map(|piece| piece.blob))
    }
}
