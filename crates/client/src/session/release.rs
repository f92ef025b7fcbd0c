//! Releases: deletions of keys, repeated until they succeed or the session ends. The end of the
//! session deletes its keys as well.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use crate::error::ClientError;
use crate::requests;
use crate::session::lease_keeper::SessionState;
use crate::transport::REQUEST_TIMEOUT;
use crate::transport::channel::Channel;

/// Delays after which a released key is deleted again, because a delayed request may have written
/// it once more.
const REPEAT_DELETE_DELAYS: [Duration; 2] = [Duration::from_secs(3), Duration::from_secs(12)];

/// Upper bound on the keys that one request to enqueue deletes: etcd allows 128 operations in a
/// transaction.
const MAX_RELEASES_PER_REQUEST: usize = 16;

/// Releases of a session that have not started. Each has a task that starts it, unless the next
/// request to enqueue takes it first: a program that moves from lock to lock then sends one request
/// for each.
#[derive(Debug, Default)]
pub(crate) struct ReleaseQueue(Mutex<Vec<PendingRelease>>);

impl ReleaseQueue {
    /// Adds a release, which starts soon in the background.
    pub(crate) fn add(self: &Arc<Self>, release: PendingRelease, runtime: &Handle) {
        let key = release.key.clone();
        self.lock().push(release);
        let (queue, handle) = (self.clone(), runtime.clone());
        runtime.spawn(async move {
            // The task that dropped the claim runs on first and may request another lock.
            let has_key = |it: &mut PendingRelease| it.key == key;
            let found = queue.lock().extract_if(.., has_key).next();
            if let Some(release) = found {
                release.complete(false, &handle);
            }
        });
    }

    /// Takes releases for one request, whose sender completes them.
    pub(crate) fn take_batch(&self) -> Vec<PendingRelease> {
        let mut releases = self.lock();
        let count = releases.len().min(MAX_RELEASES_PER_REQUEST);
        releases.drain(..count).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<PendingRelease>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A key to delete. It does not keep its session alive.
#[derive(Debug)]
pub(crate) struct PendingRelease {
    channel: Arc<Channel>,
    state: watch::Receiver<SessionState>,
    key: Vec<u8>,
    /// Fencing token of the lock that was held by the key; 0 if none was.
    fence: u64,
    /// True if a member that was stopped may still apply a request that writes the key.
    can_reappear: bool,
}

impl PendingRelease {
    pub(crate) const fn new(
        channel: Arc<Channel>,
        state: watch::Receiver<SessionState>,
        key: Vec<u8>,
        fence: u64,
        can_reappear: bool,
    ) -> Self {
        PendingRelease { channel, state, key, fence, can_reappear }
    }

    /// Returns the key, and the fencing token of the lock that was held by it.
    pub(crate) fn key_and_fence(&self) -> (&[u8], u64) {
        (&self.key, self.fence)
    }

    /// Spawns a task for the remaining deletions, if there are any.
    pub(crate) fn complete(self, is_deleted: bool, runtime: &Handle) {
        if is_deleted && !self.can_reappear {
            return;
        }
        runtime.spawn(async move {
            if !is_deleted {
                self.delete_until_done().await;
            }
            if self.can_reappear {
                for delay in REPEAT_DELETE_DELAYS {
                    sleep(delay).await;
                    self.delete_until_done().await;
                }
            }
        });
    }

    /// Deletes the key until it succeeds. A rejection is repeated as well, because the right may be
    /// granted again.
    async fn delete_until_done(&self) {
        loop {
            let next = Instant::now() + REQUEST_TIMEOUT;
            if self.delete().await.is_ok() {
                return;
            }
            sleep_until(next).await;
        }
    }

    /// Deletes the key, unless the session has ended.
    pub(crate) async fn delete(&self) -> Result<(), ClientError> {
        if self.state.borrow().end_reason().is_some() {
            return Ok(());
        }
        let deadline = Instant::now() + REQUEST_TIMEOUT;
        self.channel.transact(requests::delete(&self.key, self.fence), deadline).await?;
        Ok(())
    }
}
