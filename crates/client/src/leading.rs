//! An office that is held.

use std::time::Instant;

use crate::claim::Claim;
use crate::error::{ClientError, Lost};
use crate::session::Deadlines;

/// An office that is held until this is dropped, or its session ends.
#[must_use = "who drops this resigns"]
#[derive(Debug)]
pub struct Leading {
    claim: Claim,
}

impl Leading {
    pub(crate) const fn new(claim: Claim) -> Self {
        Leading { claim }
    }

    /// The number of this term of office: higher than that of every one before it.
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

    /// Gives observers something else to see.
    ///
    /// # Errors
    ///
    /// [`ClientError::Lost`] if it does not lead any more.
    pub async fn proclaim(&self, value: impl Into<Vec<u8>>) -> Result<(), ClientError> {
        self.claim.put(value.into()).await
    }

    /// Waits until it leads no longer, and says why.
    pub async fn lost(&self) -> Lost {
        self.claim.lost().await
    }

    /// Leads no longer. That goes on when this future is dropped.
    ///
    /// # Errors
    ///
    /// [`ClientError::Silence`] if nobody confirms it for ten seconds; it is asked for again until
    /// it is done or the session ends.
    pub async fn resign(self) -> Result<(), ClientError> {
        self.claim.leave().await
    }
}
