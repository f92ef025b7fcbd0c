//! Changes of a single key, such as the key of a claim.

use std::sync::Arc;

use tokio::time::sleep;

use crate::requests;
use crate::transport::channel::Channel;
use crate::transport::retry::Backoff;
use crate::watch::watcher::{WatchEvent, Watcher};

/// A change of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyChange {
    /// A client has written the key.
    Put {
        /// The new value.
        value: Vec<u8>,
        /// Revision of the change.
        revision: u64,
    },
    /// The key has been deleted.
    Deleted {
        /// Revision of the change.
        revision: u64,
    },
    /// The service has removed the history at the requested revision, so some changes are missing.
    /// The next change is one that the history still contains.
    HistoryCompacted,
}

/// Receiver of the changes of a key. It returns each change once, in order.
pub struct KeyChanges {
    key: Vec<u8>,
    watcher: Watcher,
    backoff: Backoff,
}

impl KeyChanges {
    pub(crate) fn new(channel: Arc<Channel>, key: &[u8], from: u64) -> Self {
        KeyChanges {
            key: key.to_vec(),
            watcher: Watcher::of_key(channel, key, from),
            backoff: Backoff::default(),
        }
    }

    /// Waits for the next change. Continues to wait while no member responds, or while the user may
    /// not read the key. Dropping the future loses no change.
    pub async fn next(&mut self) -> KeyChange {
        loop {
            let change = match self.watcher.next().await {
                // A faulty service may report keys that are not watched.
                WatchEvent::Put(kv) | WatchEvent::Deleted(kv) if kv.key != self.key => continue,
                WatchEvent::Put(kv) => KeyChange::Put {
                    revision: requests::unsigned(kv.mod_revision),
                    value: kv.value,
                },
                WatchEvent::Deleted(kv) => {
                    KeyChange::Deleted { revision: requests::unsigned(kv.mod_revision) }
                }
                WatchEvent::HistoryCompacted => KeyChange::HistoryCompacted,
                WatchEvent::Released => continue,
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
