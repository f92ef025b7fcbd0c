//! A lock that a session holds.

use std::time::Instant;

use crate::error::{ClientError, LossReason};
use crate::lock::claim::Claim;
use crate::session::DeadlineChanges;

/// A lock that a session holds. It is an exclusive lock, a read/write lock, or a number of permits
/// of a semaphore. The session holds a read/write lock as a reader or as the writer. Dropping the
/// guard releases the lock. The lock is also released when the session ends.
///
/// The guard is valid until its deadline, or until another client deletes the key of the lock. As
/// long as the guard is valid, no other client can acquire the lock in a way that conflicts with
/// the guard, whatever happens in the network.
///
/// After a drop, the session releases the lock in the background. If the session requests another
/// lock at once, a single transaction releases the old lock and requests the new one.
#[must_use = "dropping this releases the lock"]
#[derive(Debug)]
pub struct Guard {
    claim: Claim,
}

impl Guard {
    pub(crate) const fn new(claim: Claim) -> Self {
        Guard { claim }
    }

    /// Returns the fencing token. It is larger than the token of every earlier holder.
    ///
    /// A resource should reject any token that is lower than the largest token it has seen. The
    /// resource then stays correct even if a former holder continues after losing the lock.
    ///
    /// Readers hold a read/write lock together, so a resource should compare the token of a reader
    /// only with the largest token of a writer. The tokens of a semaphore only order its holders. A
    /// resource cannot use these tokens to reject an old holder.
    pub const fn fence(&self) -> u64 {
        self.claim.fence()
    }

    /// Returns the key of this lock in the store of the service.
    pub fn key(&self) -> &[u8] {
        self.claim.key()
    }

    /// Returns the time at which the lock is lost if the session is not renewed until then. Returns
    /// `None` if the session has already ended. The deadline does not change if another client
    /// deletes the key of the lock. [`Guard::lost`] detects the deletion.
    pub fn deadline(&self) -> Option<Instant> {
        self.claim.session().deadline()
    }

    /// Returns the receiver of the session's deadlines. Each successful renewal sets a new
    /// deadline.
    pub fn deadline_changes(&self) -> DeadlineChanges {
        self.claim.session().deadline_changes()
    }

    /// Changes the value of the key of this lock. Every user that may read the key can read the
    /// value. If the future is dropped, the value may or may not be changed.
    ///
    /// # Errors
    ///
    /// [`ClientError::Lost`] if the session has ended or the key was deleted,
    /// [`ClientError::Unavailable`] if no member responds within ten seconds, and
    /// [`ClientError::Rejected`] if the service rejects the request. After
    /// [`ClientError::Unavailable`], the value may have been changed.
    pub async fn set_value(&self, value: impl Into<Vec<u8>>) -> Result<(), ClientError> {
        self.claim.set_value(value.into()).await
    }

    /// Asks the service whether the session still holds the lock. Dropping the future has no
    /// effect. Use this before work that begins long after the lock was acquired.
    ///
    /// # Errors
    ///
    /// [`ClientError::Lost`] if the lock is lost, [`ClientError::Unavailable`] if no member
    /// responds within ten seconds, and [`ClientError::Rejected`] if the service rejects the read.
    pub async fn confirm(&self) -> Result<(), ClientError> {
        self.claim.confirm().await
    }

    /// Waits until the lock is lost and returns the reason. Dropping the future has no effect.
    ///
    /// The lock is lost when the session ends. It is also lost if another client deletes the key of
    /// the lock, or if the user loses the right to read this key. Apart from this method, only
    /// [`Guard::set_value`] and [`Guard::confirm`] detect the deletion of the key.
    pub async fn lost(&self) -> LossReason {
        self.claim.lost().await
    }

    /// Releases the lock and waits until the release is committed. Dropping the future does not
    /// cancel the release.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unavailable`] if no member confirms the release within ten seconds, and
    /// [`ClientError::Rejected`] if the service rejects the request. In both cases, the session
    /// repeats the request in the background until it succeeds or the session ends.
    pub async fn release(self) -> Result<(), ClientError> {
        self.claim.release().await
    }
}
