//! A held leadership: its fencing token, its deadline and its end.

use std::time::Instant;

use crate::error::{ClientError, LossReason};
use crate::lock::claim::Claim;
use crate::session::Deadlines;

/// A won election. Dropping it, or the end of its session, ends the leadership.
#[must_use = "dropping this resigns"]
#[derive(Debug)]
pub struct Leadership {
    claim: Claim,
}

impl Leadership {
    pub(crate) const fn new(claim: Claim) -> Self {
        Leadership { claim }
    }

    /// Returns the fencing token, which is larger than that of every leadership before.
    pub const fn fence(&self) -> u64 {
        self.claim.fence()
    }

    /// Returns the key of the claim at the service.
    pub fn key(&self) -> &[u8] {
        self.claim.key()
    }

    /// Returns the time at which the leadership ends if no renewal succeeds; `None` if it has
    /// ended.
    pub fn deadline(&self) -> Option<Instant> {
        self.claim.session().deadline()
    }

    /// Returns the deadlines of the session, one for each renewal.
    pub fn deadlines(&self) -> Deadlines {
        self.claim.session().deadlines()
    }

    /// Changes the value that observers see.
    ///
    /// # Errors
    ///
    /// [`ClientError::Lost`] if the leadership has ended.
    pub async fn proclaim(&self, value: impl Into<Vec<u8>>) -> Result<(), ClientError> {
        self.claim.put(value.into()).await
    }

    /// Waits until the leadership ends and returns the reason.
    pub async fn lost(&self) -> LossReason {
        self.claim.lost().await
    }

    /// Ends the leadership, even if this future is dropped.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unavailable`] if no member confirms it within ten seconds. The request is
    /// then repeated until it succeeds or the session ends.
    pub async fn resign(self) -> Result<(), ClientError> {
        self.claim.release().await
    }
}
