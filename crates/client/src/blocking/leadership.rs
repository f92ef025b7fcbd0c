//! A leadership that a session holds.

use std::time::{Duration, Instant};

use crate::blocking::session::Session;
use crate::election::records::Candidate;
use crate::error::{ClientError, LossReason};

/// Leadership of an election that the session has won. The leadership ends when this value is
/// dropped, when the session ends, or when another client deletes the key of the leadership.
#[must_use = "dropping this resigns"]
#[derive(Debug)]
pub struct Leadership {
    pub(super) leadership: crate::election::leadership::Leadership,
    pub(super) session: Session,
}

impl Leadership {
    /// Returns the name of the election.
    pub fn name(&self) -> &str {
        self.leadership.name()
    }

    /// Returns the fencing token. It is larger than the token of every earlier leadership of the
    /// election.
    pub fn fence(&self) -> u64 {
        self.leadership.fence()
    }

    /// Returns the key of this leadership in the store of the service.
    pub fn key(&self) -> &[u8] {
        self.leadership.key()
    }

    /// Returns the time at which the leadership ends if the session is not renewed until then.
    /// Returns `None` if the session has already ended. See
    /// [`Leadership::deadline`](crate::Leadership::deadline).
    pub fn deadline(&self) -> Option<Instant> {
        self.leadership.deadline()
    }

    /// Changes the value that observers see.
    ///
    /// # Errors
    ///
    /// As [`Leadership::proclaim`](crate::Leadership::proclaim).
    pub fn proclaim(&self, value: impl Into<Vec<u8>>) -> Result<(), ClientError> {
        self.session.background_runtime().block_on(self.leadership.proclaim(value))
    }

    /// Waits until the leadership ends, but at most for `within`. Returns the reason for the end;
    /// `None` if the leadership continues.
    pub fn wait_lost_within(&self, within: Duration) -> Option<LossReason> {
        self.session.background_runtime().block_within(within, self.leadership.lost())
    }

    /// Waits until the leadership should pass to another candidate, but at most for `within`.
    /// Returns this candidate; `None` if the time has passed. If a candidate is returned, the
    /// caller must first stop the work of the leader and then resign.
    ///
    /// # Errors
    ///
    /// As [`Leadership::wait_until_transfer_due`](crate::Leadership::wait_until_transfer_due).
    pub fn wait_until_transfer_due_within(
        &self,
        within: Duration,
    ) -> Result<Option<Candidate>, ClientError> {
        let requested = self.leadership.wait_until_transfer_due();
        self.session.background_runtime().block_within(within, requested).transpose()
    }

    /// Makes a waiting candidate the next leader, as
    /// [`Leadership::nominate`](crate::Leadership::nominate) does. Waits until the candidate is
    /// next in the queue, but at most for `within`. If the candidate is not next within this time,
    /// returns `None`, and the nomination remains in place.
    ///
    /// # Errors
    ///
    /// As [`Leadership::nominate`](crate::Leadership::nominate).
    pub fn nominate_within(
        &self,
        identity: &str,
        within: Duration,
    ) -> Result<Option<Candidate>, ClientError> {
        let nominated = self.leadership.nominate(identity);
        self.session.background_runtime().block_within(within, nominated).transpose()
    }

    /// Ends the leadership, so that the next candidate leads. Stop the work of the leader before
    /// this call.
    ///
    /// # Errors
    ///
    /// As [`Leadership::resign`](crate::Leadership::resign).
    pub fn resign(self) -> Result<(), ClientError> {
        self.session.background_runtime().block_on(self.leadership.resign())
    }
}
