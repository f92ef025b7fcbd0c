//! Changes of the queue of a lock or an election.

use std::sync::Arc;

use tokio::time::sleep;

use crate::requests;
use crate::transport::channel::Channel;
use crate::transport::retry::Backoff;
use crate::watch::watcher::{WatchEvent, Watcher};

/// A change of a queue: a claim was added, changed or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockQueueChange {
    /// A claim has been added, or its value has changed.
    AddedOrChanged {
        /// Key of the claim.
        key: Vec<u8>,
        /// Fencing token of the claim: the revision in which it was added.
        fence: u64,
        /// Revision of the change.
        revision: u64,
    },
    /// A claim has been removed.
    Left {
        /// Key of the claim.
        key: Vec<u8>,
        /// Revision in which the claim was removed.
        revision: u64,
    },
    /// The service has removed the history at the requested revision, so some changes are missing.
    /// The next change is one that the history still contains.
    HistoryCompacted,
}

/// Receiver of the changes of a queue. It returns each change once, in order.
pub struct LockQueueChanges {
    watcher: Watcher,
    name: String,
    backoff: Backoff,
}

impl LockQueueChanges {
    pub(crate) fn new(channel: Arc<Channel>, name: &str, from: u64) -> Self {
        let watcher = Watcher::of_range(channel, requests::queue_range(name), from);
        LockQueueChanges { watcher, name: name.to_owned(), backoff: Backoff::default() }
    }

    /// Waits for the next change. Continues to wait while no member responds, or while the user may
    /// not read the queue. Dropping the future loses no change.
    pub async fn next(&mut self) -> LockQueueChange {
        loop {
            let change = match self.watcher.next().await {
                // The key belongs to another queue, whose name begins with the name of this queue.
                WatchEvent::Put(kv) | WatchEvent::Deleted(kv)
                    if !requests::is_in_queue(&self.name, &kv.key) =>
                {
                    continue;
                }
                WatchEvent::Put(kv) => {
                    let fence = requests::unsigned(kv.create_revision);
                    let revision = requests::unsigned(kv.mod_revision);
                    LockQueueChange::AddedOrChanged { key: kv.key, fence, revision }
                }
                WatchEvent::Deleted(kv) => LockQueueChange::Left {
                    revision: requests::unsigned(kv.mod_revision),
                    key: kv.key,
                },
                WatchEvent::Released => continue,
                WatchEvent::HistoryCompacted => LockQueueChange::HistoryCompacted,
                WatchEvent::Rejected | WatchEvent::Disconnected => {
                    sleep(self.backoff.next_pause()).await;
                    continue;
                }
            };
            self.backoff = Backoff::default();
            return change;
        }
    }
}
