//! Locks: waiting in the queue of a name, and held locks.

use std::time::Duration;

use tokio::time::timeout;

use crate::error::ClientError;
use crate::lock::guard::Guard;
use crate::lock::queue_entry::HandOver;
use crate::session::Session;

pub(crate) mod acquire;
pub(crate) mod claim;
pub(crate) mod guard;
pub(crate) mod queue_entry;

impl Session {
    /// Enters the queue of a lock and waits until this session acquires it. Dropping the future
    /// leaves the queue.
    ///
    /// At `tenure serve` a lock is acquired as soon as the holder releases it, elsewhere when the
    /// holder's key is deleted.
    ///
    /// Names may nest: claims of `jobs/nightly` are not in the queue of `jobs`. Libraries of etcd
    /// treat them as one queue.
    ///
    /// # Errors
    ///
    /// [`ClientError::Lost`] if the session ends meanwhile, [`ClientError::Rejected`] if the
    /// service rejects the request.
    pub async fn lock(&self, name: &str) -> Result<Guard, ClientError> {
        acquire::acquire(self, name, Vec::new(), HandOver::OnRelease).await.map(Guard::new)
    }

    /// Acquires the lock if no other claim holds it or waits for it; otherwise returns `None`.
    ///
    /// # Errors
    ///
    /// [`ClientError`]
    pub async fn try_lock(&self, name: &str) -> Result<Option<Guard>, ClientError> {
        Ok(acquire::try_acquire(self, name, Vec::new()).await?.map(Guard::new))
    }

    /// Acquires the lock within a duration; otherwise leaves the queue and returns `None`.
    ///
    /// # Errors
    ///
    /// [`ClientError`]
    pub async fn lock_within(
        &self,
        name: &str,
        within: Duration,
    ) -> Result<Option<Guard>, ClientError> {
        timeout(within, self.lock(name)).await.ok().transpose()
    }
}
