//! Errors of requests, with the codes and messages that clients of etcd know.

use std::borrow::Cow;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tenure_store::{Code as StoreCode, Error};
use tonic::{Code, Status};
use tracing::field::display;
use tracing::warn;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RpcError {
    code: Code,
    message: Cow<'static, str>,
}

impl RpcError {
    pub(crate) const NO_LEADER: RpcError = unavailable("etcdserver: no leader");
    /// The cluster declined the request until its deadline, for example because the leader changed.
    /// The request was not executed.
    pub(crate) const LEADER_CHANGED: RpcError = unavailable("etcdserver: leader changed");
    /// The request timed out, or its outcome cannot be reported. The cluster may yet execute the
    /// request, or has executed it.
    pub(crate) const TIMED_OUT: RpcError = unavailable("etcdserver: request timed out");
    /// The deadline of the client passed. No request of the call can take effect any more.
    pub(crate) const DEADLINE_EXCEEDED: RpcError =
        new(Code::DeadlineExceeded, "context deadline exceeded");
    /// The request was sent to the leader, which failed. The cluster may yet execute the request.
    pub(crate) const LEADER_FAILED: RpcError =
        unavailable("etcdserver: request timed out, possibly due to previous leader failure");
    pub(crate) const STOPPED: RpcError = unavailable("etcdserver: server stopped");
    pub(crate) const TOO_MANY_REQUESTS: RpcError =
        new(Code::ResourceExhausted, "etcdserver: too many requests");
    pub(crate) const REQUEST_TOO_LARGE: RpcError =
        new(Code::InvalidArgument, "etcdserver: request is too large");
    pub(crate) const RESPONSE_TOO_LARGE: RpcError = new(
        Code::ResourceExhausted,
        "tenure: the response exceeds 64 MiB: read fewer keys at a time with a limit",
    );
    pub(crate) const TOO_MANY_KEYS: RpcError = new(
        Code::ResourceExhausted,
        "tenure: the transaction reads more than 1048576 keys: read fewer at a time",
    );
    pub(crate) const INVALID_SORT: RpcError =
        new(Code::InvalidArgument, "etcdserver: invalid sort option");
    pub(crate) const INVALID_COMPARISON: RpcError =
        new(Code::InvalidArgument, "tenure: unknown comparison in the transaction");
    /// The client did not read the response in time. The server dropped the response.
    pub(crate) const RESPONSE_STALLED: RpcError =
        new(Code::ResourceExhausted, "tenure: response dropped because the client stopped reading");
    /// The client did not send the rest of the request in time.
    pub(crate) const REQUEST_STALLED: RpcError =
        new(Code::ResourceExhausted, "tenure: request dropped because the client stopped sending");
    pub(crate) const BAD_TRANSFEREE: RpcError =
        new(Code::FailedPrecondition, "etcdserver: bad leader transferee");
    pub(crate) const MEMBER_NOT_LEADER: RpcError =
        new(Code::FailedPrecondition, "etcdserver: not leader");
    pub(crate) const UNKNOWN_SERVICE: RpcError = new(Code::NotFound, "unknown service");
    pub(crate) const MEMBER_NOT_FOUND: RpcError =
        new(Code::NotFound, "etcdserver: member not found");
    pub(crate) const PEER_URL_EXISTS: RpcError =
        new(Code::FailedPrecondition, "etcdserver: Peer URLs already exists");
    pub(crate) const PEER_URL_UNKNOWN: RpcError = new(
        Code::FailedPrecondition,
        "tenure: unknown peer URL: expected that of a member in --initial-cluster",
    );
    pub(crate) const PEER_URL_INVALID: RpcError =
        new(Code::InvalidArgument, "etcdserver: given member URLs are invalid");
    pub(crate) const NOT_LEARNER: RpcError =
        new(Code::FailedPrecondition, "etcdserver: can only promote a learner member");
    pub(crate) const LEARNER_NOT_READY: RpcError = new(
        Code::FailedPrecondition,
        "etcdserver: can only promote a learner member which is in sync with leader",
    );
    pub(crate) const MEMBERSHIP_CHANGING: RpcError =
        unavailable("tenure: another membership change is in progress");
    /// The change had no effect, because no majority of the voters after the change responds to the
    /// leader.
    pub(crate) const UNHEALTHY_CLUSTER: RpcError = unavailable("etcdserver: unhealthy cluster");
    pub(crate) const NO_VOTER_LEFT: RpcError =
        new(Code::FailedPrecondition, "tenure: the cluster would have no voter left");
    pub(crate) const AUTH_FAILED: RpcError = new(
        Code::InvalidArgument,
        "etcdserver: authentication failed, invalid user ID or password",
    );
    /// The token is not valid: its signature is wrong, it is outdated by a change of the password,
    /// or it has expired.
    pub(crate) const INVALID_TOKEN: RpcError =
        new(Code::Unauthenticated, "etcdserver: invalid auth token");
    pub(crate) const PERMISSION_MISSING: RpcError =
        new(Code::InvalidArgument, "etcdserver: permission not given");
    /// The range of a permission contains no keys, or its first key is missing.
    pub(crate) const INVALID_PERMISSION_RANGE: RpcError =
        new(Code::InvalidArgument, "etcdserver: invalid auth management");
    /// The lease of a claim ended while the claim waited for its lock.
    pub(crate) const LOCK_SESSION_EXPIRED: RpcError =
        new(Code::Unknown, "mutex: session is expired");
    /// The lease of a candidate ended while the candidate waited to lead.
    pub(crate) const ELECTION_SESSION_EXPIRED: RpcError =
        new(Code::Unknown, "election: session is expired");
    pub(crate) const NOT_ELECTION_LEADER: RpcError = new(Code::Unknown, "election: not leader");
    pub(crate) const NO_ELECTION_LEADER: RpcError = new(Code::Unknown, "election: no leader");
    pub(crate) const LEADER_KEY_MISSING: RpcError =
        new(Code::Unknown, "\"leader\" field must be provided");

    /// Returns the error for an unknown service or method, or a feature of etcd that this server
    /// does not have.
    pub(crate) fn unimplemented(message: String) -> RpcError {
        RpcError { code: Code::Unimplemented, message: message.into() }
    }

    /// Returns the code and the message as one text, in the form of etcd's client in Go.
    pub(crate) fn grpc_text(&self) -> String {
        format!("rpc error: code = {:?} desc = {}", self.code, self.message)
    }

    /// Returns this error with the code `Unknown`, which the lock and election services of etcd use
    /// for most errors. The message stays the same. If clients must recognize the error by its
    /// code, returns the error unchanged.
    pub(crate) fn with_unknown_code(self) -> RpcError {
        match self.code {
            Code::Unavailable
            | Code::ResourceExhausted
            | Code::PermissionDenied
            | Code::Unauthenticated => self,
            // Clients need the code to learn that they must authenticate.
            _ if self == Error::UserEmpty.into() => self,
            _ => RpcError { code: Code::Unknown, ..self },
        }
    }
}

const fn new(code: Code, message: &'static str) -> RpcError {
    RpcError { code, message: Cow::Borrowed(message) }
}

const fn unavailable(message: &'static str) -> RpcError {
    new(Code::Unavailable, message)
}

#[derive(Debug, Default)]
pub(crate) struct RejectionCounters {
    counts: [AtomicU64; 17],
    /// Time at which a denied request was last logged. `None`: never.
    last_logged: Mutex<Option<Instant>>,
}

impl RejectionCounters {
    pub(crate) fn increment(&self, code: Code) {
        if let Some(count) = self.counts.get(i32::from(code) as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts a rejected request. If it was denied because of missing rights or authentication,
    /// also logs the request with the address and the user of the client. Logs at most one denied
    /// request per second.
    pub(crate) fn record(
        &self,
        status: &Status,
        client_address: Option<SocketAddr>,
        user: Option<&str>,
        path: &str,
    ) {
        self.increment(status.code());
        let is_access_error =
            matches!(status.code(), Code::PermissionDenied | Code::Unauthenticated)
                || [RpcError::AUTH_FAILED, Error::UserEmpty.into()]
                    .iter()
                    .any(|it| it.message == status.message());
        let mut last_logged = self.last_logged.lock().unwrap_or_else(PoisonError::into_inner);
        if is_access_error && last_logged.is_none_or(|at| at.elapsed() >= Duration::from_secs(1)) {
            *last_logged = Some(Instant::now());
            let (client, code) = (client_address.map(display), i32::from(status.code()));
            warn!(client, user, path, code, reason = status.message(), "request denied");
        }
    }

    pub(crate) fn counts_by_code(&self) -> impl Iterator<Item = (usize, u64)> {
        let counts = self.counts.iter().map(|count| count.load(Ordering::Relaxed)).enumerate();
        counts.filter(|(_, count)| *count > 0)
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<Error> for RpcError {
    fn from(error: Error) -> Self {
        let code = match error.code() {
            StoreCode::InvalidArgument => Code::InvalidArgument,
            StoreCode::NotFound => Code::NotFound,
            StoreCode::FailedPrecondition => Code::FailedPrecondition,
            StoreCode::OutOfRange => Code::OutOfRange,
            StoreCode::PermissionDenied => Code::PermissionDenied,
            StoreCode::ResourceExhausted => Code::ResourceExhausted,
        };
        new(code, error.message())
    }
}

impl From<RpcError> for Status {
    fn from(error: RpcError) -> Self {
        Status::new(error.code, error.message)
    }
}
