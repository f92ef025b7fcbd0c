//! Errors of requests. Each variant states whether the request may have had an effect.

use thiserror::Error;
use tonic::Code;

/// Error of a request to a service.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClientError {
    /// An endpoint is invalid. No request was sent.
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
    /// No member responded in time. The request may have taken effect, or may still do so.
    #[error("no response from {endpoints}: {reason}")]
    Unavailable {
        /// Endpoints that were tried.
        endpoints: String,
        /// Reason why the last attempt failed.
        reason: String,
    },
    /// The service rejected the request, which had no effect.
    #[error("refused: {message}")]
    Rejected {
        /// Status code of gRPC.
        code: Code,
        /// Message of the service.
        message: String,
    },
    /// The session, or the claim for a lock or an election, has ended.
    #[error("{0}")]
    Lost(#[from] LossReason),
}

/// Reason why a session, a lock or a leadership has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LossReason {
    /// No renewal succeeded in time. The client must assume that the lease has expired, although
    /// the service may still keep it.
    #[error("no renewal was answered in time")]
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
