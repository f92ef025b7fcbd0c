//! Runs long computations in blocking threads, so that they delay neither clients nor the log.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::rpc::error::RpcError;

/// Upper bound on the keys that a task scans itself, in well below a millisecond.
pub(crate) const MAX_INLINE_KEYS: usize = 1_000;

/// Longest time for which a request waits for a permit.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);

/// Limit of concurrent computations of one kind.
#[derive(Debug)]
pub(crate) struct ConcurrencyLimit(Semaphore);

impl ConcurrencyLimit {
    /// Creates a limit of this many concurrent computations.
    pub(crate) fn new(limit: usize) -> Self {
        ConcurrencyLimit(Semaphore::new(limit))
    }

    /// Waits for a permit, which is returned when it is dropped.
    ///
    /// # Errors
    ///
    /// [`RpcError::TOO_MANY`] after a timeout.
    pub(crate) async fn acquire(&self) -> Result<SemaphorePermit<'_>, RpcError> {
        let permit = timeout(ACQUIRE_TIMEOUT, self.0.acquire()).await;
        permit.map_err(|_| RpcError::TOO_MANY)?.map_err(|_| RpcError::STOPPED)
    }

    /// Waits for a permit to scan this many keys. A small scan needs none.
    pub(crate) async fn acquire_for_scan(
        &self,
        keys: usize,
    ) -> Result<Option<SemaphorePermit<'_>>, RpcError> {
        if keys <= MAX_INLINE_KEYS { Ok(None) } else { self.acquire().await.map(Some) }
    }
}

/// Runs a scan of this many keys, in a blocking thread if there are many.
pub(crate) async fn run_scan<T: Send + 'static>(
    keys: usize,
    scan: impl FnOnce() -> T + Send + 'static,
) -> Result<T, RpcError> {
    if keys <= MAX_INLINE_KEYS { Ok(scan()) } else { blocking(scan).await }
}

/// Runs a long computation in a blocking thread.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, RpcError> {
    spawn_blocking(work).await.map_err(|_| RpcError::STOPPED)
}
