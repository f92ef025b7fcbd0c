//! Releases of locks. A release deletes the key of a lock, and is repeated until it succeeds or the
//! session ends. When the session ends, the service deletes all keys of the session.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::error::ClientError;
use crate::requests;
use crate::session::lease_keeper::SessionState;
use crate::session::released_keys::ReleasedKeys;
use crate::transport::REQUEST_TIMEOUT;
use crate::transport::channel::Channel;

/// Maximum number of released keys that a request for a new lock deletes. etcd allows 128
/// operations in a transaction.
const MAX_RELEASES_PER_REQUEST: usize = 16;

/// Queue of the releases that a session has requested and that no task has started. A background
/// task starts each release soon. If the session requests another lock before the task starts the
/// release, the request includes the release. A program that moves from lock to lock therefore
/// sends one request per lock.
#[derive(Debug, Default)]
pub(crate) struct ReleaseQueue(Mutex<Vec<PendingRelease>>);

impl ReleaseQueue {
    /// Adds a release to the queue, and starts a background task that performs the release. If the
    /// program requests another lock before the task starts, the request for this lock may perform
    /// the release instead.
    pub(crate) fn add(self: &Arc<Self>, release: PendingRelease, runtime: &Handle) {
        let key = release.key.clone();
        self.lock().push(release);
        let (queue, handle) = (self.clone(), runtime.clone());
        runtime.spawn(async move {
            // The program may request another lock before this task starts. The queue then does not
            // contain the release any more.
            let has_key = |it: &mut PendingRelease| it.key == key;
            let found = queue.lock().extract_if(.., has_key).next();
            if let Some(release) = found {
                release.finish_in_background(false, &handle);
            }
        });
    }

    /// Removes as many releases from the queue as one request can include, and returns them. After
    /// sending the request, the caller must call [`PendingRelease::finish_in_background`] for each
    /// release.
    pub(crate) fn take_batch(&self) -> Vec<PendingRelease> {
        let mut releases = self.lock();
        let count = releases.len().min(MAX_RELEASES_PER_REQUEST);
        releases.drain(..count).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<PendingRelease>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Deletion of a claim's key, and of the candidate's record if there is one. This value does not
/// keep the session alive.
#[derive(Debug)]
pub(crate) struct PendingRelease {
    channel: Arc<Channel>,
    state: watch::Receiver<SessionState>,
    key: Vec<u8>,
    /// Key of the candidate's record, which stores the identity and the priority. The record is
    /// deleted in the same transaction. `None` for locks.
    record_key: Option<Vec<u8>>,
    /// Fencing token of the lock that the deletion releases. 0 if the deletion announces no
    /// release, because the key held no lock, or because other keys may hold the lock at the same
    /// time.
    fence: u64,
    /// Released keys of the session, if a member may still execute a request that creates the key.
    /// `None` if the key cannot appear again.
    released_keys: Option<Arc<ReleasedKeys>>,
}

impl PendingRelease {
    pub(crate) const fn new(
        channel: Arc<Channel>,
        state: watch::Receiver<SessionState>,
        key: Vec<u8>,
        fence: u64,
        released_keys: Option<Arc<ReleasedKeys>>,
    ) -> Self {
        PendingRelease { channel, state, key, record_key: None, fence, released_keys }
    }

    pub(crate) fn with_record_key(mut self, record_key: Option<Vec<u8>>) -> PendingRelease {
        self.record_key = record_key;
        self
    }

    /// Returns the keys to delete, each with the fencing token of the lock that the deletion
    /// releases, or 0.
    pub(crate) fn keys_to_delete(&self) -> impl Iterator<Item = (&[u8], u64)> {
        let record = self.record_key.iter().map(|key| (&key[..], 0));
        std::iter::once((&self.key[..], self.fence)).chain(record)
    }

    /// Starts a task that deletes the key, unless `is_deleted` is true, which means that the key is
    /// already deleted. If a delayed request may create the key again, the session deletes it then.
    pub(crate) fn finish_in_background(self, is_deleted: bool, runtime: &Handle) {
        if let Some(released_keys) = &self.released_keys {
            released_keys.add(self.keys_to_delete().map(|(key, _)| key.to_vec()), runtime);
        }
        if !is_deleted {
            runtime.spawn(async move { self.delete_until_done().await });
        }
    }

    /// Deletes the key, and repeats the request until it succeeds or the session has ended. Repeats
    /// even a request that was denied, because the user may regain the permission.
    async fn delete_until_done(&self) {
        loop {
            let next = Instant::now() + REQUEST_TIMEOUT;
            if self.delete_keys().await.is_ok() {
                return;
            }
            sleep_until(next).await;
        }
    }

    /// Deletes the key, and the record of the candidate if there is one. Does nothing if the
    /// session has ended, because the service then deletes all keys of the session.
    pub(crate) async fn delete_keys(&self) -> Result<(), ClientError> {
        if self.state.borrow().end_reason().is_some() {
            return Ok(());
        }
        let deletions: Vec<_> = self.keys_to_delete().collect();
        self.channel.transact_idempotent(requests::delete_all_txn(&deletions)).await.map(drop)
    }
}
