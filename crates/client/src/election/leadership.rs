//! A leadership that a session holds: its fencing token, its deadline and its end.

use std::time::Instant;

use crate::error::{ClientError, LossReason};
use crate::lock::claim::Claim;
use crate::session::{DeadlineChanges, Session};

/// Leadership of an election that the session has won. The leadership ends when this value is
/// dropped, when the session ends, or when another client deletes the key of the leadership.
#[must_use = "dropping this resigns"]
#[derive(Debug)]
pub struct Leadership {
    claim: Claim,
    name: String,
}

impl Leadership {
    pub(crate) const fn new(claim: Claim, name: String) -> Self {
        Leadership { claim, name }
    }

    pub(crate) const fn session(&self) -> &Session {
        self.claim.session()
    }

    /// Returns the name of the election.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the fencing token. It is larger than the token of every earlier leadership of the
    /// election.
    pub const fn fence(&self) -> u64 {
        self.claim.fence()
    }

    /// Returns the key of this leadership in the store of the service.
    pub fn key(&self) -> &[u8] {
        self.claim.key()
    }

    /// Returns the time at which the leadership ends if the session is not renewed until then.
    /// Returns `None` if the session has already ended. The deadline does not change if another
    /// client deletes the key of the leadership. [`Leadership::lost`] detects the deletion.
    pub fn deadline(&self) -> Option<Instant> {
        self.claim.session().deadline()
    }

    /// Returns the receiver of the session's deadlines. Each successful renewal sets a new
    /// deadline.
    pub fn deadline_changes(&self) -> DeadlineChanges {
        self.claim.session().deadline_changes()
    }

    /// Changes the value that observers see. If the future is dropped, the value may or may not
    /// change.
    ///
    /// # Errors
    ///
    /// [`ClientError::Lost`] if the leadership has ended, [`ClientError::Unavailable`] if no member
    /// responds within ten seconds, and [`ClientError::Rejected`] if the service rejects the
    /// request. After [`ClientError::Unavailable`], the value may have been changed.
    pub async fn proclaim(&self, value: impl Into<Vec<u8>>) -> Result<(), ClientError> {
        self.claim.set_value(value.into()).await
    }

    /// Waits until the leadership ends and returns the reason. Dropping the future has no effect.
    pub async fn lost(&self) -> LossReason {
        self.claim.lost().await
    }

    /// Ends the leadership, so that the next candidate leads. Stop the work of the leader before
    /// this call. Dropping the future does not cancel the resignation.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unavailable`] if no member confirms the end within ten seconds, and
    /// [`ClientError::Rejected`] if the service rejects the request. In both cases, the session
    /// repeats the request in the background until it succeeds or the session ends.
    pub async fn resign(self) -> Result<(), ClientError> {
        self.claim.release().await
    }
}
