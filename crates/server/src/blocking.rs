//! Runs long computations in blocking threads. In an async task they would delay clients and the
//! log.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::rpc::error::RpcError;

/// Largest number of keys that an async task scans itself. Such a scan takes well below a
/// millisecond. A longer scan runs in a blocking thread.
pub(crate) const MAX_INLINE_SCAN_KEYS: usize = 1_000;

/// Longest time for which a request waits for a permit to start a computation.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);

/// Limit of the number of computations of one kind that run at the same time, such as scans of many
/// keys.
#[derive(Debug)]
pub(crate) struct ConcurrencyLimit(Semaphore);

impl ConcurrencyLimit {
    pub(crate) fn new(limit: usize) -> Self {
        ConcurrencyLimit(Semaphore::new(limit))
    }

    /// Waits for a permit to start a computation. The caller must keep the permit until the
    /// computation has ended.
    ///
    /// # Errors
    ///
    /// [`RpcError::TOO_MANY_REQUESTS`] if no permit is free within 5 s.
    pub(crate) async fn acquire(&self) -> Result<SemaphorePermit<'_>, RpcError> {
        let permit = timeout(ACQUIRE_TIMEOUT, self.0.acquire()).await;
        permit.map_err(|_| RpcError::TOO_MANY_REQUESTS)?.map_err(|_| RpcError::STOPPED)
    }

    /// Waits for a permit to scan `key_count` keys. Returns `None` if this number is at most
    /// [`MAX_INLINE_SCAN_KEYS`], so that no permit is needed. Fails as
    /// [`ConcurrencyLimit::acquire`] does.
    pub(crate) async fn acquire_for_scan(
        &self,
        key_count: usize,
    ) -> Result<Option<SemaphorePermit<'_>>, RpcError> {
        if key_count <= MAX_INLINE_SCAN_KEYS { Ok(None) } else { self.acquire().await.map(Some) }
    }
}

/// Runs a scan of `key_count` keys. If `key_count` is at most [`MAX_INLINE_SCAN_KEYS`], the scan
/// runs in the calling task. Otherwise the scan runs in a blocking thread.
pub(crate) async fn run_scan<T: Send + 'static>(
    key_count: usize,
    scan: impl FnOnce() -> T + Send + 'static,
) -> Result<T, RpcError> {
    if key_count <= MAX_INLINE_SCAN_KEYS { Ok(scan()) } else { run_blocking(scan).await }
}

pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, RpcError> {
    spawn_blocking(work).await.map_err(|_| RpcError::STOPPED)
}
