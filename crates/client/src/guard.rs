//! A lock that is held.

use std::time::Instant;

use crate::claim::Claim;
use crate::error::{ClientError, Lost};
use crate::session::Deadlines;

/// A lock that is held until this is dropped, or its session ends. It is claimed no longer than
/// until its deadline, and the service lets nobody else in before, whatever the network does.
///
/// Whoever drops it need not wait: the session sees to it that it is given up, with the next lock
/// that is asked for in it if that is at once.
#[must_use = "the lock is given up when this is dropped"]
#[derive(Debug)]
pub struct Guard {
    claim: Claim,
}

impl Guard {
    pub(crate) const fn new(claim: Claim) -> Self {
        Guard { claim }
    }

    /// The number of this entry: higher than that of every entry into this lock before it. A
    /// resource that refuses what comes with a lower number than the highest it has seen is right
    /// even if a holder wakes up too late.
    pub const fn fence(&self) -> u64 {
        self.claim.fence()
    }

    /// The key by which the service knows it.
    pub fn key(&self) -> &[u8] {
        self.claim.key()
    }

    /// Until when it may be claimed if no renewal is answered any more. Nothing if it is over.
    pub fn deadline(&self) -> Option<Instant> {
        self.claim.session().deadline()
    }

    /// The deadlines that follow, one for each renewal that is answered.
    pub fn deadlines(&self) -> Deadlines {
        self.claim.session().deadlines()
    }

    /// Waits until it is lost, and says why: with its session, or because somebody has deleted
    /// its key or it may not be seen any more, of which only who waits here is told.
    pub async fn lost(&self) -> Lost {
        self.claim.lost().await
    }

    /// Gives it up, and waits until the log has that. It goes on when this future is dropped.
    ///
    /// # Errors
    ///
    /// [`ClientError::Silence`] if nobody confirms it for ten seconds; it is asked for again until
    /// it is done or the session ends.
    pub async fn release(self) -> Result<(), ClientError> {
        self.claim.leave().await
    }
}
