//! A claim: a key in the queue of a lock or an election. A claim is valid until it is released, its
//! key is deleted, or its session ends.

use std::sync::atomic::{AtomicU64, Ordering};

use tenure_etcd::etcdserverpb as rpc;
use tenure_session::QueueView;
use tokio::time::sleep;
use tonic::Code;

use crate::error::{ClientError, LossReason};
use crate::requests;
use crate::session::Session;
use crate::session::release::PendingRelease;
use crate::telemetry::metrics::HoldTimer;
use crate::transport::retry::Backoff;
use crate::watch::watcher::{WatchEvent, Watcher};

/// A claim that holds its lock or leads its election.
#[derive(Debug)]
pub(crate) struct Claim {
    session: Session,
    key: Vec<u8>,
    /// Key of the candidate's record, which stores the identity and the priority. `None` for locks,
    /// and for candidates without options.
    record_key: Option<Vec<u8>>,
    /// Fencing token: the revision in which the key was created.
    fence: u64,
    /// Revision of the last change of the key, as far as this client knows.
    changed: AtomicU64,
    /// True if the release of this claim does not pass the lock on, for example because other
    /// claims may hold the lock at the same time.
    is_shared: bool,
    /// True if the request that created the key was sent more than once. A delayed copy of the
    /// request may then create the key again after its deletion.
    can_reappear: bool,
    is_released: bool,
    hold: HoldTimer,
}

impl Claim {
    pub(crate) fn new(session: Session, key: Vec<u8>, fence: u64, can_reappear: bool) -> Claim {
        let hold = HoldTimer::start();
        Claim {
            session,
            key,
            record_key: None,
            fence,
            changed: AtomicU64::new(fence),
            is_shared: false,
            can_reappear,
            is_released: false,
            hold,
        }
    }

    /// Adds the key of the candidate's record. The record is deleted together with the claim.
    pub(crate) fn with_record_key(mut self, record_key: Option<Vec<u8>>) -> Claim {
        self.record_key = record_key;
        self
    }

    /// Marks the claim as shared: other claims may hold the same lock at the same time. A release
    /// of a shared claim does not pass the lock on, because other claims may still hold it. Waiters
    /// learn of the release only when the key is deleted.
    pub(crate) fn with_concurrent_holders(mut self) -> Claim {
        self.is_shared = true;
        self
    }

    pub(crate) const fn session(&self) -> &Session {
        &self.session
    }

    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    pub(crate) const fn fence(&self) -> u64 {
        self.fence
    }

    /// Changes the value of the claim's key.
    ///
    /// # Errors
    ///
    /// [`ClientError::Lost`] if the session has ended or the key was deleted,
    /// [`ClientError::Unavailable`] if no member responds within ten seconds, and
    /// [`ClientError::Rejected`].
    pub(crate) async fn set_value(&self, value: Vec<u8>) -> Result<(), ClientError> {
        loop {
            self.session.check_alive()?;
            let request = self.value_change(value.clone(), self.changed.load(Ordering::Relaxed));
            let response = self.session.channel().transact_idempotent(request).await?;
            if response.succeeded {
                self.changed.store(requests::revision(&response), Ordering::Relaxed);
                return Ok(());
            }
            let kv = requests::key_values(&response).next();
            let kv = kv.filter(|kv| requests::unsigned(kv.create_revision) == self.fence);
            let Some(kv) = kv else { return Err(LossReason::KeyDeleted.into()) };
            self.changed.store(requests::unsigned(kv.mod_revision), Ordering::Relaxed);
            // An earlier copy of the request has succeeded, although its response was lost.
            if kv.value == value {
                return Ok(());
            }
        }
    }

    /// Returns a request that changes the value if the last change of the key was in the revision
    /// `changed`. Otherwise the request reads the key. A delayed copy of the request therefore does
    /// not undo a later change.
    fn value_change(&self, value: Vec<u8>, changed: u64) -> rpc::TxnRequest {
        let put = requests::put(&self.key, value, self.session.id());
        let mut request = requests::change_if_created_at_txn(&self.key, self.fence, put);
        request.compare.push(requests::mod_revision_equals(&self.key, changed));
        request.failure.push(requests::op(requests::read_key(&self.key)));
        request
    }

    /// Deletes the key. If the future is dropped, the deletion continues in the background.
    pub(crate) async fn release(mut self) -> Result<(), ClientError> {
        self.hold.stop();
        let release = self.pending_release();
        let deleted = release.delete_keys().await;
        self.is_released = true;
        release.finish_in_background(deleted.is_ok(), self.session.runtime());
        deleted
    }

    fn pending_release(&self) -> PendingRelease {
        let announced = if self.is_shared { 0 } else { self.fence };
        let release = self.session.pending_release(self.key.clone(), announced, self.can_reappear);
        release.with_record_key(self.record_key.clone())
    }

    /// Waits until the claim ends, and returns the reason. A claim ends when the session ends, when
    /// another client deletes the key, or when the user loses the right to read the key.
    pub(crate) async fn lost(&self) -> LossReason {
        tokio::select! {
            biased;
            reason = self.session.lost() => reason,
            reason = self.key_lost() => self.session.loss_reason().unwrap_or(reason),
        }
    }

    /// Asks the service whether the key of the claim still exists.
    ///
    /// # Errors
    ///
    /// [`ClientError::Lost`] if the session has ended or the key was deleted,
    /// [`ClientError::Unavailable`] if no member responds within ten seconds, and
    /// [`ClientError::Rejected`].
    pub(crate) async fn confirm(&self) -> Result<(), ClientError> {
        self.session.check_alive()?;
        let view = self.read_own_key().await?;
        if view.own_create_revision != Some(self.fence) {
            return Err(self.session.query_key_deletion_reason().await.into());
        }
        self.session.check_alive()
    }

    async fn key_lost(&self) -> LossReason {
        let channel = self.session.channel();
        let mut backoff = Backoff::default();
        let mut from = self.fence + 1;
        loop {
            let mut watcher = Watcher::of_key(channel.clone(), &self.key, from);
            loop {
                match watcher.next().await {
                    WatchEvent::Deleted(deleted) if deleted.key == self.key => {
                        return LossReason::KeyDeleted;
                    }
                    WatchEvent::Deleted(_) | WatchEvent::Put(_) | WatchEvent::Released => {}
                    WatchEvent::HistoryCompacted
                    | WatchEvent::Rejected
                    | WatchEvent::Disconnected => break,
                }
            }
            // The key may have been deleted in a revision that the watch did not show.
            match self.read_own_key().await {
                Ok(view) if view.own_create_revision != Some(self.fence) => {
                    return LossReason::KeyDeleted;
                }
                Ok(view) => from = view.revision + 1,
                Err(ClientError::Rejected { code: Code::PermissionDenied, .. }) => {
                    return LossReason::AccessDenied;
                }
                Err(_) => {}
            }
            sleep(backoff.next_pause()).await;
        }
    }

    async fn read_own_key(&self) -> Result<QueueView<Vec<u8>>, ClientError> {
        let request = requests::read_queue_txn(&self.key, None);
        let response = self.session.channel().transact_idempotent(request).await?;
        Ok(requests::view_without_predecessor(&response, &self.key))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.is_released {
            self.session.release_queue().add(self.pending_release(), self.session.runtime());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::client::Client;
    use crate::lock::transactions::NewKey;
    use crate::test_member::start_member;

    #[tokio::test]
    async fn delayed_copy_of_a_change_keeps_a_later_value() {
        let (_folder, address) = start_member().await;
        let client = Client::connect([&address]).await.expect("a connection");
        let session = client.session(Duration::from_secs(60)).await.expect("a session");
        let key = b"a/1".to_vec();
        let new = NewKey { key: &key, value: b"", lease: session.id() };
        let created =
            session.channel().transact_idempotent(new.create_txn()).await.expect("a response");
        let claim = Claim::new(session.clone(), key.clone(), requests::revision(&created), false);
        let delayed = claim.value_change(b"v1".to_vec(), claim.fence);
        let value = async || {
            let request = rpc::TxnRequest {
                success: vec![requests::op(requests::read_key(&key))],
                ..Default::default()
            };
            let response =
                session.channel().transact_idempotent(request).await.expect("a response");
            requests::key_values(&response).next().expect("a key").value.clone()
        };
        claim.set_value(b"v1".to_vec()).await.expect("a response");
        claim.set_value(b"v2".to_vec()).await.expect("a response");
        session.channel().transact_idempotent(delayed).await.expect("a response");
        assert_eq!(value().await, b"v2");

        // Another client changes the value, for instance to ask for the lock.
        let put = requests::put(&key, b"other".to_vec(), session.id());
        let put = requests::change_if_created_at_txn(&key, claim.fence, put);
        session.channel().transact_idempotent(put).await.expect("a response");
        claim.set_value(b"v3".to_vec()).await.expect("a response");
        assert_eq!(value().await, b"v3");
        claim.release().await.expect("a response");
    }
}
