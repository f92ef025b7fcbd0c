//! What happens in a queue.

use tokio::time::sleep;

use crate::client::Client;
use crate::line::Pauses;
use crate::txn;
use crate::watching::{News, Watching};

/// Something that happened in the queue of a lock or an election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Somebody has queued, or said something else.
    Queued {
        /// The key by which the service knows them.
        key: Vec<u8>,
        /// The number of their entry: the revision in which they queued.
        fence: u64,
        /// The revision of this change.
        revision: u64,
    },
    /// Somebody is gone.
    Left {
        /// The key by which the service knew them.
        key: Vec<u8>,
        /// The revision of this change.
        revision: u64,
    },
    /// The service does not remember what happened from where it was asked.
    Forgotten,
}

/// Who sees what happens in a queue, each change once and in its order.
pub struct Changes {
    watching: Watching,
    name: String,
    pauses: Pauses,
}

impl Changes {
    pub(crate) fn new(client: &Client, name: &str, from: u64) -> Self {
        let watching = Watching::span(client.line.clone(), txn::span(name), from);
        Changes { watching, name: name.to_owned(), pauses: Pauses::default() }
    }

    /// Waits for the next change; while nobody answers too.
    pub async fn next(&mut self) -> Change {
        loop {
            let change = match self.watching.next().await {
                // The key is of another queue, whose name begins with this one.
                News::Put(kv) | News::Deleted(kv) if !txn::is_direct(&self.name, &kv.key) => {
                    continue;
                }
                News::Put(kv) => {
                    let fence = txn::unsigned(kv.create_revision);
                    let revision = txn::unsigned(kv.mod_revision);
                    Change::Queued { key: kv.key, fence, revision }
                }
                News::Deleted(kv) => {
                    Change::Left { revision: txn::unsigned(kv.mod_revision), key: kv.key }
                }
                News::Released => continue,
                News::Forgotten => Change::Forgotten,
                News::Refused | News::Broken => {
                    sleep(self.pauses.next()).await;
                    continue;
                }
            };
            self.pauses = Pauses::default();
            return change;
        }
    }
}
