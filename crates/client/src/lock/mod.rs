//! Locks: waiting in the queue of a lock, and the guard of a held lock.

use std::time::Duration;

use tokio::time::timeout;

use crate::error::ClientError;
use crate::lock::guard::Guard;
use crate::lock::queue_entry::HandOverEvent;
use crate::session::Session;

pub(crate) mod access;
pub(crate) mod acquire;
pub(crate) mod claim;
mod deadlock;
pub(crate) mod guard;
pub(crate) mod multi_guard;
mod permit_queue;
pub(crate) mod queue_entry;
pub(crate) mod queue_pages;
mod read_write;
pub(crate) mod semaphore;
pub(crate) mod transactions;

impl Session {
    /// Waits in the queue of a lock until this session acquires the lock. If the future is dropped,
    /// the session leaves the queue.
    ///
    /// At `tenure serve`, the next client acquires the lock as soon as the holder sends its
    /// release. At etcd, the next client acquires the lock when the holder's key is deleted.
    ///
    /// Names may contain `/`: `jobs` and `jobs/nightly` are two locks with separate queues. The
    /// libraries of etcd would treat them as one queue.
    ///
    /// # Errors
    ///
    /// [`ClientError::Lost`] if the session ends meanwhile or another client deletes the claim's
    /// key, and [`ClientError::Rejected`] if the service rejects a request. After an error, the
    /// session is not in the queue.
    pub async fn lock(&self, name: &str) -> Result<Guard, ClientError> {
        acquire::acquire(self, name, Vec::new(), HandOverEvent::OnRelease).await.map(Guard::new)
    }

    /// Acquires the lock if no client holds it or waits for it, not even through this session.
    /// Returns `None` otherwise. If the future is dropped, the session does not hold the lock.
    ///
    /// # Errors
    ///
    /// As [`Session::lock`].
    pub async fn try_lock(&self, name: &str) -> Result<Option<Guard>, ClientError> {
        Ok(acquire::try_acquire(self, name, Vec::new()).await?.map(Guard::new))
    }

    /// Acquires the lock within the time `within`. If the time passes first, leaves the queue and
    /// returns `None`. If the future is dropped, the session leaves the queue.
    ///
    /// # Errors
    ///
    /// As [`Session::lock`].
    pub async fn lock_within(
        &self,
        name: &str,
        within: Duration,
    ) -> Result<Option<Guard>, ClientError> {
        timeout(within, self.lock(name)).await.ok().transpose()
    }
}
