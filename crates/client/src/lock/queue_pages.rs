//! Reads of a whole queue. A read consists of several requests, so that each response stays below
//! the limit of gRPC clients.

use std::cmp::Reverse;

use tenure_etcd::etcdserverpb::response_op::Response;
use tenure_etcd::mvccpb::KeyValue;
use tokio::time::sleep;
use tonic::Code;

use crate::error::ClientError;
use crate::lock::queue_entry::transact_while_alive;
use crate::lock::transactions::{QueuePageRequest, read_queue_page_txn};
use crate::requests;
use crate::session::Session;
use crate::transport::retry::Backoff;

/// Number of keys per response. Even with names of several kilobytes, a response stays below the
/// limit of gRPC clients.
const KEYS_PER_PAGE: i64 = 500;

/// Read of all keys of a queue up to a creation revision, and of the caller's own key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueRead<'a> {
    /// Name of the queue.
    pub(crate) name: &'a str,
    /// Key of the caller.
    pub(crate) key: &'a [u8],
    /// Upper bound on the revision in which a key was created; 0 for no bound.
    pub(crate) max_create_revision: u64,
    /// True if the values of the keys are not read.
    pub(crate) is_keys_only: bool,
}

/// State of a queue in one revision of the store.
#[derive(Clone, Debug)]
pub(crate) struct QueueSnapshot {
    /// Revision of the store in which the queue had this state.
    pub(crate) revision: u64,
    /// Revision in which the caller's key was created; `None` if the key does not exist.
    pub(crate) own_create_revision: Option<u64>,
    /// Keys of the queue other than the caller's, newest first.
    pub(crate) others: Vec<KeyValue>,
}

impl QueueRead<'_> {
    /// Reads the queue. The result is the state of the queue in one revision of the store, which is
    /// not older than this call.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unavailable`] if the session ends while no member responds, and
    /// [`ClientError::Rejected`] if the service rejects a read.
    pub(crate) async fn perform(self, session: &Session) -> Result<QueueSnapshot, ClientError> {
        let mut backoff = Backoff::default();
        loop {
            match self.read_pages(session).await {
                // The revision of the first page was compacted before the last page was read.
                Err(ClientError::Rejected { code: Code::OutOfRange, message })
                    if message.contains("compacted") =>
                {
                    sleep(backoff.next_pause()).await;
                }
                result => return result,
            }
        }
    }

    async fn read_pages(self, session: &Session) -> Result<QueueSnapshot, ClientError> {
        let QueueRead { name, key, max_create_revision, is_keys_only } = self;
        let (from, end) = requests::queue_range(name);
        let limit = KEYS_PER_PAGE;
        let mut page =
            QueuePageRequest { from, end, limit, revision: 0, max_create_revision, is_keys_only };
        let (mut own_create_revision, mut others) = (None, Vec::new());
        loop {
            let request = read_queue_page_txn(key, page.clone());
            let mut response = transact_while_alive(session, request, &mut 0).await?;
            if page.revision == 0 {
                // Later pages are read in the revision of the first one.
                page.revision = requests::revision(&response);
                own_create_revision = requests::create_revision(&response, key);
            }
            let keys = match response.responses.pop().and_then(|last| last.response) {
                Some(Response::ResponseRange(range)) => range.kvs,
                _ => Vec::new(),
            };
            let is_full = i64::try_from(keys.len()).is_ok_and(|count| count >= limit);
            let next = keys.last().filter(|_| is_full).map(|last| [&last.key[..], &[0]].concat());
            let is_other = |kv: &KeyValue| kv.key != key && requests::is_in_queue(name, &kv.key);
            others.extend(keys.into_iter().filter(is_other));
            let Some(next) = next else { break };
            page.from = next;
        }
        others.sort_by_key(|kv: &KeyValue| Reverse(kv.create_revision));
        Ok(QueueSnapshot { revision: page.revision, own_create_revision, others })
    }
}
