//! A lock that a session holds.

use std::time::{Duration, Instant};

use crate::blocking::session::Session;
use crate::error::{ClientError, LossReason};

/// A lock that a session holds. Dropping the guard releases the lock in the background. The lock is
/// also released when the session ends.
///
/// The guard is valid until its deadline. [`Guard`](crate::Guard) describes the details.
#[must_use = "dropping this releases the lock"]
#[derive(Debug)]
pub struct Guard {
    pub(super) guard: crate::lock::guard::Guard,
    pub(super) session: Session,
}

impl Guard {
    /// Returns the fencing token, see [`Guard::fence`](crate::Guard::fence).
    pub fn fence(&self) -> u64 {
        self.guard.fence()
    }

    /// Returns the key of this lock in the store of the service.
    pub fn key(&self) -> &[u8] {
        self.guard.key()
    }

    /// Returns the time at which the lock is lost if the session is not renewed until then. Returns
    /// `None` if the session has already ended. See [`Guard::deadline`](crate::Guard::deadline).
    pub fn deadline(&self) -> Option<Instant> {
        self.guard.deadline()
    }

    /// Changes the value of the key of this lock, as [`Guard::set_value`](crate::Guard::set_value)
    /// does.
    ///
    /// # Errors
    ///
    /// As [`Guard::set_value`](crate::Guard::set_value).
    pub fn set_value(&self, value: impl Into<Vec<u8>>) -> Result<(), ClientError> {
        self.session.background_runtime().block_on(self.guard.set_value(value))
    }

    /// Asks the service whether the session still holds the lock, as
    /// [`Guard::confirm`](crate::Guard::confirm) does.
    ///
    /// # Errors
    ///
    /// As [`Guard::confirm`](crate::Guard::confirm).
    pub fn confirm(&self) -> Result<(), ClientError> {
        self.session.background_runtime().block_on(self.guard.confirm())
    }

    /// Waits until the lock is lost, but at most for `within`. Returns the reason for the loss;
    /// `None` if the lock is still held. [`Guard::lost`](crate::Guard::lost) describes which losses
    /// are detected.
    pub fn wait_lost_within(&self, within: Duration) -> Option<LossReason> {
        self.session.background_runtime().block_within(within, self.guard.lost())
    }

    /// Releases the lock and waits until the release is committed.
    ///
    /// # Errors
    ///
    /// As [`Guard::release`](crate::Guard::release).
    pub fn release(self) -> Result<(), ClientError> {
        self.session.background_runtime().block_on(self.guard.release())
    }
}
