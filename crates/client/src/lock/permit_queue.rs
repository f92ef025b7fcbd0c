//! The queue of a semaphore: reads the claims before the caller's claim, and waits until these
//! claims leave enough permits free.

use tenure_etcd::mvccpb::KeyValue;
use tenure_session::AccessMode;

use crate::error::ClientError;
use crate::lock::queue_pages::{QueueRead, QueueSnapshot};
use crate::requests;
use crate::session::Session;
use crate::transport::retry::Backoff;
use crate::watch::watcher::Watcher;

/// Second-to-last segment of a claim's key, which has the form `NAME/permits/LEASE`.
pub(crate) const PERMITS_KEY_SEGMENT: &str = "permits";

/// The queue of the claims of one semaphore.
#[derive(Clone, Debug)]
pub(crate) struct PermitQueue<'a> {
    session: &'a Session,
    /// Name of the queue: the name of the semaphore and the segment `permits`.
    name: String,
    /// Total number of permits of the semaphore.
    permits: u32,
}

/// State of the queue at one read.
#[derive(Clone, Debug)]
pub(crate) struct PermitQueueView {
    /// Revision of the store at the time of the read.
    pub(crate) revision: u64,
    /// Revision in which the caller's key was created; `None` if the key does not exist.
    own_create_revision: Option<u64>,
    /// Claims other than the caller's, newest first.
    claims: Vec<PermitClaim>,
}

#[derive(Clone, Debug)]
struct PermitClaim {
    key: Vec<u8>,
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
            // The wait also ends when the caller's key is deleted. One revision may delete the
            // caller's key and other keys, so the loop reads the queue again after each wait.
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
        let read = QueueRead { name: &self.name, key, max_create_revision, is_keys_only: false };
        let QueueSnapshot { revision, own_create_revision, others } =
            read.perform(self.session).await?;
        let claims = others.iter().map(|kv| self.claim(kv)).collect();
        Ok(PermitQueueView { revision, own_create_revision, claims })
    }

    fn claim(&self, kv: &KeyValue) -> PermitClaim {
        let weight = std::str::from_utf8(&kv.value).ok().and_then(|value| value.parse().ok());
        // A claim with an unknown number of permits is treated as a claim of all permits.
        let access = weight.map_or(AccessMode::Exclusive, |weight| self.access(weight));
        PermitClaim { key: kv.key.clone(), access }
    }
}
