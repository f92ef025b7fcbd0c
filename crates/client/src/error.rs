//! Errors, and the effect that a failed request may have had.

use thiserror::Error;
use tonic::Code;

/// Error of a request to a service.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClientError {
    /// An endpoint is invalid. No request was sent.
    #[error("invalid endpoint '{endpoint}': expected a URL such as http://127.0.0.1:2379")]
    InvalidEndpoint {
        /// The endpoint as it was given.
        endpoint: String,
    },
    /// An endpoint uses TLS, and no certificates of authorities were given. No request was sent.
    #[error("endpoint '{endpoint}' uses TLS and requires the certificate of its authority")]
    MissingCertificates {
        /// The endpoint as it was given.
        endpoint: String,
    },
    /// No member responded in time. The request may have taken effect, or may still do so.
    #[error("no response from {endpoints}: {reason}")]
    Unavailable {
        /// Endpoints that were tried.
        endpoints: String,
        /// Failure of the last attempt.
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
    /// The session or the claim has ended.
    #[error("{0}")]
    Lost(#[from] LossReason),
}

/// Reason why a session, a lock or a leadership has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LossReason {
    /// No renewal succeeded in time, so the client must assume that the lease has expired. The
    /// service may still have it.
    #[error("no renewal was answered in time")]
    NotRenewed,
    /// The service ended the lease.
    #[error("the service has ended the lease")]
    LeaseEnded,
    /// Another client deleted the key of the claim. The session continues.
    #[error("its key was deleted")]
    KeyDeleted,
    /// The user has lost the right to read the key of the claim, so a deletion would go unnoticed.
    #[error("its key may not be read any more")]
    AccessDenied,
    /// The owner closed the session.
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
