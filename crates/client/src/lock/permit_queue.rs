//! The queue of a semaphore: reads the claims before the caller's claim, and waits until these
//! claims leave enough permits free.

use tenure_etcd::etcdserverpb::response_op::Response;
use tenure_etcd::mvccpb::KeyValue;
use tenure_session::AccessMode;
use tokio::time::sleep;
use tonic::Code;

use crate::error::ClientError;
use crate::lock::queue_entry::transact_while_alive;
use crate::lock::transactions::{QueuePageRequest, read_queue_page};
use crate::requests;
use crate::session::Session;
use crate::transport::retry::Backoff;
use crate::watch::watcher::Watcher;

/// Second-to-last segment of a claim's key, which has the form `NAME/permits/LEASE`.
pub(crate) const PERMITS_KEY_SEGMENT: &str = "permits";

/// Number of keys per read. Even with names of several kilobytes, a response stays below the limit
/// of gRPC clients.
const KEYS_PER_PAGE: i64 = 500;

#[derive(Clone, Debug)]
pub(crate) struct PermitQueue<'a> {
    session: &'a Session,
    name: String,
    permits: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct PermitQueueView {
    pub(crate) revision: u64,
    /// Revision in which the caller's key was created; `None` if the key does not exist.
    own_create_revision: Option<u64>,
    /// Claims other than the caller's, newest first.
    claims: Vec<PermitClaim>,
}

#[derive(Clone, Debug)]
struct PermitClaim {
    key: Vec<u8>,
    created: u64,
    access: AccessMode,
}

impl PermitQueueView {
    /// Returns true if a new claim with this access would get its permits without waiting. The new
    /// claim comes after all claims of the view.
    pub(crate) fn can_admit(&self, access: AccessMode) -> bool {
        access
            .blocking_claims(self.claims.iter().map(|claim| (&claim.key, claim.access)))
            .is_empty()
    }

    fn remove(&mut self, key: &[u8]) {
        self.claims.retain(|claim| claim.key != key);
    }
}

impl<'a> PermitQueue<'a> {
    pub(crate) fn new(session: &'a Session, name: &str, permits: u32) -> Self {
        PermitQueue { session, name: format!("{name}/{PERMITS_KEY_SEGMENT}"), permits }
    }

    pub(crate) const fn access(&self, weight: u32) -> AccessMode {
        AccessMode::Permits { weight, capacity: self.permits }
    }

    /// Waits until the earlier claims leave `weight` permits free. `create_revision` is the
    /// revision in which the caller's key was created. The caller's key stays in the queue, even if
    /// the future is dropped.
    pub(crate) async fn wait_for_permits(
        &self,
        key: &[u8],
        create_revision: u64,
        weight: u32,
    ) -> Result<(), ClientError> {
        let access = self.access(weight);
        let mut backoff = Backoff::default();
        loop {
            let mut view = self.read_view(key, create_revision.saturating_sub(1)).await?;
            if view.own_create_revision != Some(create_revision) {
                return Err(self.session.query_key_deletion_reason().await.into());
            }
            if view.can_admit(access) {
                return Ok(());
            }
            let (channel, range) = (self.session.channel(), requests::queue_range(&self.name));
            let watcher = Watcher::of_range(channel.clone(), range, view.revision + 1);
            // The wait also ends at the deletion of the own key. The loop then reads the queue
            // again, because one revision may have deleted several keys.
            let is_awaited = |deleted: &[u8]| {
                view.remove(deleted);
                deleted == key || view.can_admit(access)
            };
            watcher.without_puts().wait_for_deletion(is_awaited, &mut backoff).await;
        }
    }

    /// Reads the caller's key, and the claims that were created in the revision
    /// `max_create_revision` or earlier. If `max_create_revision` is 0, reads all claims.
    pub(crate) async fn read_view(
        &self,
        key: &[u8],
        max_create_revision: u64,
    ) -> Result<PermitQueueView, ClientError> {
        let mut backoff = Backoff::default();
        loop {
            match self.read_pages(key, max_create_revision).await {
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

    async fn read_pages(
        &self,
        key: &[u8],
        max_create_revision: u64,
    ) -> Result<PermitQueueView, ClientError> {
        let (from, end) = requests::queue_range(&self.name);
        let limit = KEYS_PER_PAGE;
        let mut page = QueuePageRequest { from, end, limit, revision: 0, max_create_revision };
        let (mut own, mut claims) = (None, Vec::new());
        loop {
            let request = read_queue_page(key, page.clone());
            let response = transact_while_alive(self.session, request, &mut 0).await?;
            if page.revision == 0 {
                // Later pages are read in the revision of the first one.
                page.revision = requests::revision(&response);
                own = requests::view_without_predecessor(&response, key).own_create_revision;
            }
            let keys = match response.responses.last().and_then(|last| last.response.as_ref()) {
                Some(Response::ResponseRange(range)) => &range.kvs[..],
                _ => &[],
            };
            let is_claim =
                |kv: &&KeyValue| kv.key != key && requests::is_in_queue(&self.name, &kv.key);
            claims.extend(keys.iter().filter(is_claim).map(|kv| self.claim(kv)));
            let is_full = i64::try_from(keys.len()).is_ok_and(|count| count >= limit);
            let Some(last) = keys.last().filter(|_| is_full) else { break };
            page.from = [&last.key[..], &[0]].concat();
        }
        claims.sort_by_key(|claim: &PermitClaim| std::cmp::Reverse(claim.created));
        Ok(PermitQueueView { revision: page.revision, own_create_revision: own, claims })
    }

    fn claim(&self, kv: &KeyValue) -> PermitClaim {
        let weight = std::str::from_utf8(&kv.value).ok().and_then(|value| value.parse().ok());
        // A claim with an unknown number of permits counts as a claim of all permits.
        let access = weight.map_or(AccessMode::Exclusive, |weight| self.access(weight));
        PermitClaim { key: kv.key.clone(), created: requests::unsigned(kv.create_revision), access }
    }
}
