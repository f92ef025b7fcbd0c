//! The channel of a client: sends requests over one connection to a member of the service, and
//! replaces the connection after a failure.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use tenure_etcd::etcdserverpb::{TxnRequest, TxnResponse};
use tenure_etcd::frames;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tonic::Status;

use crate::clock::SuspensionNotifier;
use crate::error::ClientError;
use crate::options::ConnectOptions;
use crate::telemetry::metrics;
use crate::transport::connection::{
    AUTHENTICATION_TIMEOUT, Connection, connect_without_authentication,
};
use crate::transport::endpoint::Endpoint;
use crate::transport::failures::EndpointFailures;
use crate::transport::leader_search::LeaderSearchLimiter;
use crate::transport::retry::{
    Backoff, RetryAction, no_response_status, rejected_error, retry_action,
};
use crate::transport::{ATTEMPT_TIMEOUT, NEXT_ENDPOINT_DELAY, REQUEST_TIMEOUT};

/// Boxed future that can fail with a [`ClientError`]. Without the box, each crate that awaits the
/// future would compile the whole transport again.
pub(crate) type ClientFuture<'a, T> = futures_util::future::BoxFuture<'a, Result<T, ClientError>>;

/// A channel to a service. The channel has one connection at a time, and replaces a failed
/// connection.
#[derive(Debug)]
pub(crate) struct Channel {
    endpoints: Vec<Endpoint>,
    options: ConnectOptions,
    pub(crate) suspension_notifier: Arc<SuspensionNotifier>,
    current: Mutex<Current>,
    pub(crate) leader_search_limiter: LeaderSearchLimiter,
    pub(crate) failures: EndpointFailures,
}

/// The connection of a channel, and the state for choosing the next endpoint.
#[derive(Debug, Default)]
struct Current {
    connection: Option<Arc<Connection>>,
    /// Index of the endpoint of `connection`. Not meaningful without a connection.
    endpoint: usize,
    /// Index of the endpoint to try next, modulo the number of endpoints.
    next: usize,
    /// True once the channel has connected to a member for the first time.
    has_connected: bool,
}

impl Current {
    fn set(&mut self, connection: Connection, endpoint: usize) -> Arc<Connection> {
        metrics::member_connected(!self.has_connected);
        let connection = Arc::new(connection);
        self.connection = Some(connection.clone());
        self.endpoint = endpoint;
        self.has_connected = true;
        connection
    }
}

impl Channel {
    pub(crate) fn new(endpoints: Vec<Endpoint>, options: ConnectOptions) -> Self {
        // The first endpoint is random, so that clients spread over the members.
        let next = fastrand::usize(..endpoints.len());
        let current = Mutex::new(Current { next, ..Current::default() });
        let (suspension_notifier, leader_search_limiter) =
            (SuspensionNotifier::start(), LeaderSearchLimiter::default());
        let failures = EndpointFailures::default();
        Channel {
            endpoints,
            options,
            suspension_notifier,
            current,
            leader_search_limiter,
            failures,
        }
    }

    pub(crate) fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    pub(crate) const fn options(&self) -> &ConnectOptions {
        &self.options
    }

    /// Returns true if requests should go to the leader, and the channel has several endpoints.
    pub(crate) const fn prefers_leader(&self) -> bool {
        self.endpoints.len() > 1 && !self.options.can_use_any_member
    }

    /// Returns the connection if it is open, with the index of its endpoint.
    pub(crate) async fn current_connection(&self) -> Option<(Arc<Connection>, usize)> {
        let current = self.current.lock().await;
        let connection = current.connection.clone().filter(|it| !it.is_closed())?;
        Some((connection, current.endpoint))
    }

    /// Replaces the connection `old` by `new`. Does nothing if `old` is not the current connection
    /// any more.
    pub(crate) async fn replace_if_current(
        &self,
        old: &Arc<Connection>,
        new: Connection,
        endpoint_index: usize,
    ) {
        let mut current = self.current.lock().await;
        if current.connection.as_ref().is_some_and(|connection| Arc::ptr_eq(connection, old)) {
            // The next endpoint is random, so that the clients of a failed member spread over the
            // others.
            current.next = endpoint_index + fastrand::usize(1..self.endpoints.len());
            current.set(new, endpoint_index);
        }
    }

    /// Connects to a member. Fails if no member accepts a connection within the time
    /// `accept_timeout`. If the options contain a user, the call may take longer, by
    /// [`AUTHENTICATION_TIMEOUT`] per endpoint. The members need this time to verify the password.
    pub(crate) fn connect(&self, accept_timeout: Duration) -> ClientFuture<'_, Arc<Connection>> {
        let last_round = Instant::now() + accept_timeout;
        let password_checks = match self.options.user {
            Some(_) => u32::try_from(self.endpoints.len()).unwrap_or(u32::MAX),
            None => 0,
        };
        let deadline = last_round + AUTHENTICATION_TIMEOUT * password_checks;
        Box::pin(self.connect_until(last_round, deadline))
    }

    /// Returns the open connection. If there is none, connects to a member. Fails if no member
    /// accepts a connection and verifies the password of the user before the deadline.
    pub(crate) fn get_or_connect(&self, deadline: Instant) -> ClientFuture<'_, Arc<Connection>> {
        Box::pin(self.connect_until(deadline, deadline))
    }

    /// Tries all endpoints in rounds. Starts no round after `last_round`, and ends at the deadline.
    async fn connect_until(
        &self,
        last_round: Instant,
        deadline: Instant,
    ) -> Result<Arc<Connection>, ClientError> {
        let Ok(mut current) = timeout_at(deadline, self.current.lock()).await else {
            return Err(self.unavailable("another task is connecting"));
        };
        if let Some(connection) = current.connection.as_ref().filter(|it| !it.is_closed()) {
            return Ok(connection.clone());
        }
        current.connection = None;
        let mut backoff = Backoff::default();
        let mut failure = no_response_status();
        loop {
            match timeout_at(deadline, self.connect_to_any(&mut current.next)).await {
                Ok(Ok((endpoint, connection))) => return Ok(current.set(connection, endpoint)),
                Ok(Err(status)) if retry_action(&status) == RetryAction::Fail => {
                    return Err(rejected_error(&status));
                }
                Ok(Err(status)) => failure = status,
                // Reports the failure of the previous round, which is more specific than a timeout.
                Err(_) => return Err(self.unavailable(failure.message())),
            }
            let pause = backoff.next_pause();
            if Instant::now() + pause >= last_round {
                return Err(self.unavailable(failure.message()));
            }
            sleep(pause).await;
        }
    }

    /// Tries each endpoint once, in their order, starting at the index `next`. Returns the first
    /// connection at which a member accepts the user, with the index of its endpoint. Without a
    /// user, every connection is accepted. Advances `next` for each endpoint that the method tries.
    async fn connect_to_any(&self, next: &mut usize) -> Result<(usize, Connection), Status> {
        let mut untried = self.endpoints.len();
        loop {
            let (endpoint, connection) = self.connect_to_first(next, &mut untried).await?;
            match self.authenticate(connection).await {
                Ok(connection) => return Ok((endpoint, connection)),
                Err(status) if untried == 0 || retry_action(&status) == RetryAction::Fail => {
                    return Err(status);
                }
                Err(_) => {}
            }
        }
    }

    async fn authenticate(&self, connection: Connection) -> Result<Connection, Status> {
        let address = connection.address().to_owned();
        let authenticated = connection.into_authenticated(&self.options).await;
        authenticated.inspect_err(|status| self.failures.record(&address, status))
    }

    /// Tries up to `untried` endpoints in their order, starting at the index `next`. Returns the
    /// index of the first endpoint that accepts a connection, and the connection. If an endpoint
    /// does not respond soon, the method tries the next endpoint in parallel. For each endpoint
    /// that the method tries, it advances `next` and decrements `untried`.
    async fn connect_to_first(
        &self,
        next: &mut usize,
        untried: &mut usize,
    ) -> Result<(usize, Connection), Status> {
        let mut attempts = JoinSet::new();
        let mut failure = Status::unavailable("no endpoint was tried");
        loop {
            if *untried > 0 {
                *untried -= 1;
                let index = *next % self.endpoints.len();
                // An endpoint that fails is tried last the next time.
                *next = index + 1;
                let (endpoint, options) = (self.endpoints[index].clone(), self.options.clone());
                attempts.spawn(async move {
                    let connection = connect_without_authentication(&endpoint, &options).await;
                    (index, connection)
                });
            }
            match timeout(NEXT_ENDPOINT_DELAY, attempts.join_next()).await {
                Ok(Some(Ok((index, Ok(connection))))) => return Ok((index, connection)),
                Ok(Some(Ok((index, Err(status))))) => {
                    self.failures.record(self.endpoints[index].address(), &status);
                    failure = status;
                }
                Ok(None) => return Err(failure),
                // A task fails to join only while the runtime shuts down.
                Ok(Some(Err(_))) | Err(_) => {}
            }
        }
    }

    /// Sends an idempotent request until a member responds or the deadline has passed. The request
    /// must be idempotent because several members may receive it.
    pub(crate) async fn call_idempotent<Response: Message + Default>(
        &self,
        path: &'static str,
        request: impl Message,
        deadline: Instant,
    ) -> Result<Response, ClientError> {
        let request = frames::encode(&request);
        let response = self.exchange(Method::Unary(path), request, deadline, &mut 0).await?;
        frames::decode(response).map_err(|status| rejected_error(&status))
    }

    /// Sends an idempotent transaction for at most [`REQUEST_TIMEOUT`]. The attempts are repeated
    /// as in [`Channel::call_idempotent`].
    pub(crate) async fn transact_idempotent(
        &self,
        txn: TxnRequest,
    ) -> Result<TxnResponse, ClientError> {
        self.transact_counting_attempts(txn, &mut 0).await
    }

    /// Sends an idempotent transaction for at most [`REQUEST_TIMEOUT`], as
    /// [`Channel::transact_idempotent`] does. Adds the number of attempts to `attempts`. A failed
    /// connection counts as an attempt if an earlier attempt was sent.
    pub(crate) async fn transact_counting_attempts(
        &self,
        txn: TxnRequest,
        attempts: &mut u32,
    ) -> Result<TxnResponse, ClientError> {
        let deadline = Instant::now() + REQUEST_TIMEOUT;
        let request = frames::encode(&txn);
        let response = self.exchange(Method::Transact, request, deadline, attempts).await?;
        frames::decode(response).map_err(|status| rejected_error(&status))
    }

    fn exchange<'a>(
        &'a self,
        method: Method,
        request: Bytes,
        deadline: Instant,
        attempts: &'a mut u32,
    ) -> ClientFuture<'a, Bytes> {
        Box::pin(self.send_until(method, request, deadline, attempts))
    }

    async fn send_until(
        &self,
        method: Method,
        request: Bytes,
        deadline: Instant,
        attempts: &mut u32,
    ) -> Result<Bytes, ClientError> {
        let mut backoff = Backoff::default();
        loop {
            let connection = self.get_or_connect(deadline).await;
            // If the service rejects the user now, an earlier attempt may have taken effect.
            let connection = connection.inspect_err(|_| *attempts += u32::from(*attempts > 0))?;
            *attempts += 1;
            let until = deadline.min(Instant::now() + ATTEMPT_TIMEOUT);
            let within = until.saturating_duration_since(Instant::now());
            let response = method.send(&connection, request.clone(), within);
            let (status, is_abandoned) = tokio::select! {
                attempt = timeout_at(until, response) => match attempt {
                    Ok(Ok(response)) => {
                        self.failures.clear();
                        return Ok(response);
                    }
                    Ok(Err(status)) => (status, false),
                    Err(_) => (no_response_status(), false),
                },
                () = connection.wait_until_abandoned() => {
                    (Status::unavailable("the connection was abandoned"), true)
                }
            };
            let action = retry_action(&status);
            match action {
                RetryAction::Fail => return Err(rejected_error(&status)),
                RetryAction::Retry => {}
                RetryAction::Failover => connection.abandon(),
            }
            // The task that has abandoned the connection records the reason.
            if !is_abandoned {
                self.failures.record(connection.address(), &status);
            }
            let pause = backoff.next_pause();
            if Instant::now() + pause >= deadline {
                return Err(self.unavailable(status.message()));
            }
            metrics::request_retried(action);
            tracing::debug!(reason = status.message(), ?action, "request repeated");
            sleep(pause).await;
        }
    }

    /// Returns the error of a request that no member has served in time. The error contains the
    /// recorded failures of the endpoints, or `reason` if there are none.
    fn unavailable(&self, reason: &str) -> ClientError {
        let reasons = match &self.endpoints[..] {
            [_] => self.failures.reasons(),
            _ => self.failures.reasons_with_addresses(),
        };
        ClientError::Unavailable {
            endpoints: Endpoint::describe_all(&self.endpoints),
            reason: reasons.unwrap_or_else(|| reason.to_owned()),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Method {
    /// Send the request as a separate gRPC call with this path.
    Unary(&'static str),
    /// Send the request as a transaction. If the member offers a stream for transactions, the
    /// request goes over this stream. Otherwise, the request is a separate gRPC call.
    Transact,
}

impl Method {
    async fn send(
        self,
        connection: &Connection,
        request: Bytes,
        within: Duration,
    ) -> Result<Bytes, Status> {
        match self {
            Method::Unary(path) => connection.unary(path, request, within).await,
            Method::Transact => connection.transact(request, within).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// The kernel accepts connections to the endpoint, and no process responds. An attempt to
    /// connect would take longer than the deadline allows.
    #[tokio::test]
    async fn connecting_to_silent_endpoint_ends_at_the_deadline() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let endpoint = Endpoint::parse(&address).expect("an endpoint");
        let channel = Channel::new(vec![endpoint], ConnectOptions::default());
        let deadline = Instant::now() + Duration::from_millis(50);
        let connecting = channel.get_or_connect(deadline);
        tokio::select! {
            // On a stalled machine, both futures may be ready. The test must then poll the first
            // one.
            biased;
            connected = connecting => {
                let error = connected.map(drop).expect_err("no member responds");
                assert!(matches!(error, ClientError::Unavailable { .. }), "{error}");
            }
            () = tokio::time::sleep_until(deadline + Duration::from_secs(1)) => {
                panic!("the client still connects")
            }
        }
    }
}
