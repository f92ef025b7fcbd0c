//! Errors of requests. Each variant states whether the request may have had an effect.

use thiserror::Error;
use tonic::Code;

/// Error of a request to a service.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClientError {
    /// An endpoint is invalid, or the list of endpoints is empty. No request was sent.
    #[error("invalid endpoint '{endpoint}': expected a URL such as http://127.0.0.1:2379")]
    InvalidEndpoint {
        /// The endpoint, as the caller gave it.
        endpoint: String,
    },
    /// An endpoint begins with `https`, and the options contain no certificates of authorities. No
    /// request was sent.
    #[error("endpoint '{endpoint}' uses TLS and requires the certificate of its authority")]
    MissingCertificates {
        /// The endpoint, as the caller gave it.
        endpoint: String,
    },
    /// No member responded in time. The request may have taken effect, or may take effect later.
    #[error("no response from {endpoints}: {reason}")]
    Unavailable {
        /// Address of the endpoint, or the number of endpoints, such as `any of 3 endpoints`.
        endpoints: String,
        /// Last failure of each endpoint. If there are several endpoints, the text contains their
        /// addresses.
        reason: String,
    },
    /// The service rejected the request, which had no effect. The documentation of a method states
    /// if an earlier attempt of the same call may have had an effect.
    #[error("refused: {message}")]
    Rejected {
        /// Status code of gRPC with which the service responded.
        code: Code,
        /// Message with which the service explains the rejection.
        message: String,
    },
    /// No candidate with this identity waits in the election. The request had no effect.
    #[error("no candidate '{identity}' waits in this election")]
    UnknownCandidate {
        /// Identity that the request names.
        identity: String,
    },
    /// Waiting for a lock would complete a cycle of sessions that wait for each other. The session
    /// has left the queue of the lock. The session still holds the locks that it held before. The
    /// caller should release these locks, and then acquire all locks again.
    #[error("waiting would deadlock: {}", describe_cycle(cycle))]
    WouldDeadlock {
        /// The waits that form the cycle. The first element is the wait of the caller. Each session
        /// waits for the next session in this list. The last session waits for the first session.
        cycle: Vec<WaitForEdge>,
    },
    /// The semaphore exists with another number of permits, or an earlier claim of a lock requests
    /// another number of [`LockMode::Slots`](crate::LockMode::Slots). The session is not in the
    /// queue.
    #[error("semaphore '{semaphore}' has '{permits}' permits, not '{requested}'")]
    PermitsMismatch {
        /// Name of the semaphore or of the lock.
        semaphore: String,
        /// Number of permits or slots that the caller gave.
        requested: u32,
        /// Number of permits that the service has stored, or number of slots of the earlier claim,
        /// as text.
        permits: String,
    },
    /// The caller gave 0 permits or slots, or requested more permits than the semaphore has. No
    /// request was sent.
    #[error("invalid number of permits '{requested}': expected 1 to {permits}")]
    InvalidPermits {
        /// Number of permits or slots that the caller gave.
        requested: u32,
        /// Largest number that the method accepts.
        permits: u32,
    },
    /// The caller cannot enter the barrier, because enough other participants have entered it
    /// already. The session is not in the barrier.
    #[error("barrier '{barrier}' is full: all {count} participants have entered")]
    BarrierFull {
        /// Name of the barrier.
        barrier: String,
        /// Number of participants that the caller gave.
        count: u32,
    },
    /// The thread of a blocking client could not start. No request was sent.
    #[error("cannot start the thread of the client: {reason}")]
    NoThread {
        /// Error of the operating system.
        reason: String,
    },
    /// The session, or the claim for a lock or an election, has ended. A request that was sent
    /// before the end may have taken effect.
    #[error("{0}")]
    Lost(#[from] LossReason),
}

/// One session of a deadlock, and the lock for which the session waits. The next session of the
/// cycle holds this lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitForEdge {
    /// ID of the session's lease.
    pub session: i64,
    /// Name of the lock for which the session waits.
    pub lock: String,
}

fn describe_cycle(cycle: &[WaitForEdge]) -> String {
    let waits = cycle
        .iter()
        .map(|WaitForEdge { session, lock }| format!("session {session:x} waits for '{lock}'"));
    waits.collect::<Vec<_>>().join(", ")
}

/// Reason why a session, a lock or a leadership has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LossReason {
    /// No renewal succeeded in time. The client must assume that the lease has expired, although
    /// the service may still keep it.
    /// [`Client::endpoint_failures`](crate::Client::endpoint_failures) returns the reason.
    #[error("no renewal succeeded in time")]
    NotRenewed,
    /// The service has no lease for the session any more: it expired or was revoked.
    #[error("the service has ended the lease")]
    LeaseEnded,
    /// Another client deleted the key of this lock or leadership. The session continues.
    #[error("its key was deleted")]
    KeyDeleted,
    /// The user has lost the right to read the key of the lock or leadership. The client could
    /// therefore not notice a deletion of the key.
    #[error("its key may not be read any more")]
    AccessDenied,
    /// The program itself closed the session.
    #[error("the session was closed")]
    Closed,
}

impl From<tenure_session::LossReason> for LossReason {
    fn from(reason: tenure_session::LossReason) -> Self {
        match reason {
            tenure_session::LossReason::NotRenewed => LossReason::NotRenewed,
            tenure_session::LossReason::LeaseEnded => LossReason::LeaseEnded,
            tenure_session::LossReason::Closed => LossReason::Closed,
        }
    }
}
