//! Read/write locks, with the same keys as the recipe `RWMutex` of etcd's library for Go.
//!
//! A reader's key is `NAME/read/LEASE`, and a writer's is `NAME/write/LEASE`. A reader waits for
//! all writers whose keys are older than its own key. A writer waits for all readers and writers
//! whose keys are older. Later readers therefore do not overtake a waiting writer.

use std::time::Duration;

use tokio::time::timeout;

use crate::error::ClientError;
use crate::lock::claim::Claim;
use crate::lock::guard::Guard;
use crate::lock::queue_entry::{QueueEntry, find_predecessor};
use crate::lock::transactions::NewKey;
use crate::session::Session;

/// Second-to-last segment of a reader's key, which has the form `NAME/read/LEASE`.
pub(crate) const READ_KEY_SEGMENT: &str = "read";

/// Second-to-last segment of a writer's key, which has the form `NAME/write/LEASE`.
pub(crate) const WRITE_KEY_SEGMENT: &str = "write";

/// Names of the queues that a request for a read/write lock uses.
struct Queues {
    /// Queue that contains the key of the claim.
    own: String,
    /// Queues that can block the claim. The claim waits until each key in these queues is newer
    /// than the key of the claim.
    blocking: Vec<String>,
}

impl Queues {
    fn of_reader(name: &str) -> Queues {
        Queues {
            own: format!("{name}/{READ_KEY_SEGMENT}"),
            blocking: vec![format!("{name}/{WRITE_KEY_SEGMENT}")],
        }
    }

    fn of_writer(name: &str) -> Queues {
        let (readers, writers) =
            (format!("{name}/{READ_KEY_SEGMENT}"), format!("{name}/{WRITE_KEY_SEGMENT}"));
        Queues { own: writers.clone(), blocking: vec![writers, readers] }
    }

    async fn acquire(&self, session: &Session) -> Result<Claim, ClientError> {
        let key = session.new_claim_key(&self.own);
        let new = NewKey { key: &key, value: &[], lease: session.id() };
        let request = new.create_and_read_newest_txn(&self.blocking[0]);
        let mut entry = QueueEntry::prepare(session, &self.blocking[0], key, request);
        let fence = entry.wait_until_first().await?;
        // New keys come last. So once a queue contains no key older than the claim's key, this
        // stays true. The queues can therefore be awaited one after another.
        for queue in &self.blocking[1..] {
            entry.set_awaited_queue(queue);
            entry.resume_waiting(fence).await?;
        }
        Ok(entry.into_claim(fence).with_concurrent_holders())
    }

    /// Creates the claim if the queues that can block it are empty. Returns `None` otherwise.
    async fn try_acquire(&self, session: &Session) -> Result<Option<Claim>, ClientError> {
        loop {
            let key = session.new_claim_key(&self.own);
            let mut since = u64::MAX;
            for queue in &self.blocking {
                let view = find_predecessor(session, queue, &key, 0, 0).await?;
                if view.predecessor.is_some() {
                    return Ok(None);
                }
                since = since.min(view.revision);
            }
            let new = NewKey { key: &key, value: &[], lease: session.id() };
            let request = new.create_if_queues_unchanged_txn(&self.blocking, since);
            let mut entry =
                QueueEntry::prepare_without_releases(session, &self.blocking[0], key, request);
            if let Some(fence) = entry.wait_for_create_revision().await? {
                return Ok(Some(entry.into_claim(fence).with_concurrent_holders()));
            }
            // Another client has added a key since the reads.
        }
    }
}

impl Session {
    /// Waits until this session holds a read/write lock as a reader. Other readers may hold the
    /// lock at the same time. If the future is dropped, the session leaves the queue.
    ///
    /// The recipe `RWMutex` of etcd's library for Go uses the same keys, so it can share a
    /// read/write lock with this client. A read/write lock and the lock of [`Session::lock`] with
    /// the same name are two different locks. (The library for Go treats them as one lock.)
    ///
    /// A session that holds the lock as a reader and requests it as a writer waits for itself. The
    /// session must first release the guard of the reader.
    ///
    /// # Errors
    ///
    /// [`ClientError::Lost`] if the session ends meanwhile or another client deletes the key, and
    /// [`ClientError::Rejected`] if the service rejects a request. After an error, the session is
    /// not in the queue.
    pub async fn read_lock(&self, name: &str) -> Result<Guard, ClientError> {
        self.while_alive(Queues::of_reader(name).acquire(self)).await.map(Guard::new)
    }

    /// Acquires a read/write lock as a reader, if no writer holds it or waits for it. Returns
    /// `None` otherwise. If the future is dropped, the session does not hold the lock.
    ///
    /// # Errors
    ///
    /// As [`Session::read_lock`].
    pub async fn try_read_lock(&self, name: &str) -> Result<Option<Guard>, ClientError> {
        let claim = self.while_alive(Queues::of_reader(name).try_acquire(self)).await?;
        Ok(claim.map(Guard::new))
    }

    /// Acquires a read/write lock as a reader within the time `within`. If the time passes first,
    /// leaves the queue and returns `None`. If the future is dropped, the session leaves the queue.
    ///
    /// # Errors
    ///
    /// As [`Session::read_lock`].
    pub async fn read_lock_within(
        &self,
        name: &str,
        within: Duration,
    ) -> Result<Option<Guard>, ClientError> {
        timeout(within, self.read_lock(name)).await.ok().transpose()
    }

    /// Waits until this session holds a read/write lock as the writer. A writer holds the lock
    /// alone. If the future is dropped, the session leaves the queue.
    ///
    /// Later readers wait behind this request, and therefore do not delay this request.
    /// [`Session::read_lock`] describes the keys, and the relation to other locks of the same name.
    ///
    /// # Errors
    ///
    /// As [`Session::read_lock`].
    pub async fn write_lock(&self, name: &str) -> Result<Guard, ClientError> {
        self.while_alive(Queues::of_writer(name).acquire(self)).await.map(Guard::new)
    }

    /// Acquires a read/write lock as the writer, if no other client holds it or waits for it.
    /// Returns `None` otherwise. If the future is dropped, the session does not hold the lock.
    ///
    /// # Errors
    ///
    /// As [`Session::read_lock`].
    pub async fn try_write_lock(&self, name: &str) -> Result<Option<Guard>, ClientError> {
        let claim = self.while_alive(Queues::of_writer(name).try_acquire(self)).await?;
        Ok(claim.map(Guard::new))
    }

    /// Acquires a read/write lock as the writer within the time `within`. If the time passes first,
    /// leaves the queue and returns `None`. If the future is dropped, the session leaves the queue.
    ///
    /// # Errors
    ///
    /// As [`Session::read_lock`].
    pub async fn write_lock_within(
        &self,
        name: &str,
        within: Duration,
    ) -> Result<Option<Guard>, ClientError> {
        timeout(within, self.write_lock(name)).await.ok().transpose()
    }
}
