//! Barriers: one client holds a barrier, and other clients wait until it is released.

use std::sync::Arc;

use tenure_etcd::etcdserverpb::request_op::Request;
use tenure_etcd::etcdserverpb::{DeleteRangeRequest, TxnRequest};

use crate::barrier::{read_key, wait_until_deleted};
use crate::client::Client;
use crate::error::ClientError;
use crate::lock::transactions::NewKey;
use crate::requests;
use crate::transport::channel::Channel;

/// Barrier at which clients wait while it is held.
///
/// The barrier is held while the key `NAME` exists, as in the recipe `Barrier` of etcd's library
/// for Go. The key has no lease. The barrier therefore stays held until a client releases it, even
/// if the client that holds the barrier ends.
#[derive(Clone, Debug)]
pub struct Barrier {
    channel: Arc<Channel>,
    key: Vec<u8>,
}

impl Client {
    /// Returns the barrier with this name. Sends no request.
    ///
    /// The name is the key of the barrier. Avoid a name of the form `LOCK/SEGMENT`, because this
    /// key would be a claim in the queue of the lock `LOCK`.
    pub fn barrier(&self, name: &str) -> Barrier {
        Barrier { channel: self.channel.clone(), key: name.as_bytes().to_vec() }
    }
}

impl Barrier {
    /// Holds the barrier: clients that wait for it from now on are blocked. Returns false if the
    /// barrier was already held. Dropping the future may leave the barrier held.
    ///
    /// If no response arrives, the client sends the request again. A delayed copy of the request
    /// may hold the barrier again after its release, because the key has no lease that identifies
    /// the holder.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unavailable`] if no member responds within ten seconds, and
    /// [`ClientError::Rejected`] if the service rejects the request. After
    /// [`ClientError::Unavailable`], the barrier may be held. A rejected request has no effect.
    pub async fn hold(&self) -> Result<bool, ClientError> {
        // The value shows whether an earlier copy of the request has created the key.
        let value = format!("{:016x}", fastrand::u64(..));
        let new = NewKey { key: &self.key, value: value.as_bytes(), lease: 0 };
        let response = self.channel.transact_idempotent(new.create_txn()).await?;
        Ok(requests::key_values(&response).any(|kv| kv.value == value.as_bytes()))
    }

    /// Releases the barrier, even if another client holds it, and lets all waiting clients
    /// continue. Has no effect if the barrier is not held. Dropping the future may leave the
    /// barrier held or released.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unavailable`] if no member responds within ten seconds to the read or to the
    /// deletion, and [`ClientError::Rejected`] if the service rejects one of the two requests.
    /// After [`ClientError::Unavailable`], the barrier may be held or released.
    pub async fn release(&self) -> Result<(), ClientError> {
        let (kv, _) = read_key(&self.channel, &self.key).await?;
        let Some(kv) = kv else { return Ok(()) };
        // If the condition of the transaction is false, another request has released the barrier
        // meanwhile.
        self.channel
            .transact_idempotent(self.deletion(requests::unsigned(kv.create_revision)))
            .await
            .map(drop)
    }

    /// Returns a request that deletes the key if it was created in the revision `created`. A
    /// delayed copy of the request therefore does not release the barrier for a later holder.
    fn deletion(&self, created: u64) -> TxnRequest {
        let key = self.key.clone();
        let deletion =
            Request::RequestDeleteRange(DeleteRangeRequest { key, ..Default::default() });
        requests::change_if_created_at_txn(&self.key, created, deletion)
    }

    /// Waits until the barrier is released. Returns at once if it is not held. Continues to wait
    /// while no member responds. Dropping the future has no effect on the barrier.
    ///
    /// # Errors
    ///
    /// [`ClientError::Rejected`] if the service rejects a read.
    pub async fn wait(&self) -> Result<(), ClientError> {
        let (kv, revision) = loop {
            match read_key(&self.channel, &self.key).await {
                Err(ClientError::Unavailable { .. }) => {}
                read => break read?,
            }
        };
        let Some(kv) = kv else { return Ok(()) };
        let created = requests::unsigned(kv.create_revision);
        wait_until_deleted(&self.channel, &self.key, created, revision + 1).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_member::start_member;

    #[tokio::test]
    async fn delayed_copy_of_a_release_keeps_a_later_hold() {
        let (_folder, address) = start_member().await;
        let client = Client::connect([&address]).await.expect("a connection");
        let barrier = client.barrier("gate");
        assert!(barrier.hold().await.expect("a response"));
        let (kv, _) = read_key(&barrier.channel, &barrier.key).await.expect("a response");
        let created = requests::unsigned(kv.expect("a key").create_revision);
        barrier.release().await.expect("a response");
        assert!(barrier.hold().await.expect("a response"), "the barrier was released");
        barrier.channel.transact_idempotent(barrier.deletion(created)).await.expect("a response");
        assert!(!barrier.hold().await.expect("a response"), "the barrier is still held");
    }
}
