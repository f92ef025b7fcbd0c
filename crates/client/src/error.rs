//! What can go wrong, and what became of what was asked.

use thiserror::Error;
use tonic::Code;

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClientError {
    /// No address of a service: nothing was asked.
    #[error("`{endpoint}` is no endpoint such as http://127.0.0.1:2379")]
    Endpoint {
        /// What was given.
        endpoint: String,
    },
    /// An address where TLS is spoken, and nothing is known of whom to believe there: nothing was
    /// asked.
    #[error("`{endpoint}` speaks TLS, and there is no certificate of who vouches for it")]
    Unvouched {
        /// What was given.
        endpoint: String,
    },
    /// Nobody answered in time. What was asked may have been done, or may yet be.
    #[error("no answer from {endpoints}: {why}")]
    Silence {
        /// Who was asked.
        endpoints: String,
        /// What was the matter the last time.
        why: String,
    },
    /// The service says no: nothing was done.
    #[error("refused: {message}")]
    Refused {
        /// The code of gRPC.
        code: Code,
        /// The words of the service.
        message: String,
    },
    /// The session is over, or the claim is.
    #[error("{0}")]
    Lost(#[from] Lost),
}

/// Why a session, a lock or an office is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Lost {
    /// No renewal was answered in time, so nothing is claimed any more. The service may not have
    /// ended the lease yet.
    #[error("no renewal was answered in time")]
    Silence,
    /// The service has ended the lease.
    #[error("the service has ended the lease")]
    Gone,
    /// Somebody has deleted the key of the claim. The session goes on.
    #[error("its key was deleted")]
    Deleted,
    /// The service does not show its key any more: nobody would learn that it was deleted.
    #[error("its key may not be seen any more")]
    Denied,
    /// Its owner has ended the session.
    #[error("the session was closed")]
    Closed,
}

impl From<tenure_session::Lost> for Lost {
    fn from(lost: tenure_session::Lost) -> Self {
        match lost {
            tenure_session::Lost::Silence => Lost::Silence,
            tenure_session::Lost::Gone => Lost::Gone,
            tenure_session::Lost::Closed => Lost::Closed,
        }
    }
}
