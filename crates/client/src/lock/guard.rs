//! A held lock.

use std::time::Instant;

use crate::error::{ClientError, LossReason};
use crate::lock::claim::Claim;
use crate::session::Deadlines;

/// A held lock. Dropping it, or the end of its session, releases the lock.
///
/// The guard is valid until its deadline. Whatever the network does, the service grants the lock to
/// no other client before.
///
/// After a drop the session releases the lock in the background. If it requests another lock
/// immediately, one transaction does both.
#[must_use = "dropping this releases the lock"]
#[derive(Debug)]
pub struct Guard {
    claim: Claim,
}

impl Guard {
    pub(crate) const fn new(claim: Claim) -> Self {
        Guard { claim }
    }

    /// Returns the fencing token, which is larger than that of every holder before.
    ///
    /// A resource that rejects tokens below the largest one it has seen stays correct even if a
    /// former holder resumes too late.
    pub const fn fence(&self) -> u64 {
        self.claim.fence()
    }

    /// Returns the key of the claim at the service.
    pub fn key(&self) -> &[u8] {
        self.claim.key()
    }

    /// Returns the time at which the lock is lost if no renewal succeeds; `None` if it is lost.
    pub fn deadline(&self) -> Option<Instant> {
        self.claim.session().deadline()
    }

    /// Returns the deadlines of the session, one for each renewal.
    pub fn deadlines(&self) -> Deadlines {
        self.claim.session().deadlines()
    }

    /// Waits until the lock is lost and returns the reason.
    ///
    /// Besides the end of the session, another client may have deleted the key, or the user may
    /// have lost the right to read it. Only this method detects these two.
    pub async fn lost(&self) -> LossReason {
        self.claim.lost().await
    }

    /// Releases the lock and waits until the release is committed. Dropping the future does not
    /// cancel the release.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unavailable`] if no member confirms it within ten seconds. The request is
    /// then repeated until it succeeds or the session ends.
    pub async fn release(self) -> Result<(), ClientError> {
        self.claim.release().await
    }
}
