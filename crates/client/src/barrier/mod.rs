//! Barriers, with the same keys as the recipes of etcd's library for Go.

use std::sync::Arc;

use tenure_etcd::mvccpb::KeyValue;
use tokio::time::sleep;

use crate::error::ClientError;
use crate::lock::transactions::read_keys_txn;
use crate::requests;
use crate::transport::channel::Channel;
use crate::transport::retry::Backoff;
use crate::watch::watcher::{WatchEvent, Watcher};

pub(crate) mod double;
pub(crate) mod single;

/// Waits until `is_expected` returns true for the state of a key, in the revision `from` or later.
/// The state is `None` if the key does not exist. The caller must know the state in the revision
/// before `from`. Continues to wait while no member responds.
///
/// # Errors
///
/// [`ClientError::Rejected`] if the service rejects a read.
async fn wait_for_state(
    channel: &Arc<Channel>,
    key: &[u8],
    mut from: u64,
    is_expected: impl Fn(Option<&KeyValue>) -> bool,
) -> Result<(), ClientError> {
    let mut backoff = Backoff::default();
    loop {
        let mut watcher = Watcher::of_key(channel.clone(), key, from);
        loop {
            match watcher.next().await {
                WatchEvent::Put(kv) if is_expected(Some(&kv)) => return Ok(()),
                WatchEvent::Deleted(_) if is_expected(None) => return Ok(()),
                WatchEvent::Put(_) | WatchEvent::Deleted(_) | WatchEvent::Released => {}
                // The next watch continues after the last received event.
                WatchEvent::Disconnected => sleep(backoff.next_pause()).await,
                WatchEvent::HistoryCompacted | WatchEvent::Rejected => break,
            }
        }
        match read_key(channel, key).await {
            Ok((kv, _)) if is_expected(kv.as_ref()) => return Ok(()),
            Ok((_, revision)) => from = revision + 1,
            Err(ClientError::Unavailable { .. }) => {}
            Err(error) => return Err(error),
        }
        sleep(backoff.next_pause()).await;
    }
}

/// Waits until the key that was created in the revision `created` is deleted. Watches the key from
/// the revision `from` on. The caller must have read the key in the revision before `from`.
async fn wait_until_deleted(
    channel: &Arc<Channel>,
    key: &[u8],
    created: u64,
    from: u64,
) -> Result<(), ClientError> {
    let is_deleted = |kv: Option<&KeyValue>| {
        kv.is_none_or(|kv| requests::unsigned(kv.create_revision) != created)
    };
    wait_for_state(channel, key, from, is_deleted).await
}

async fn read_key(channel: &Channel, key: &[u8]) -> Result<(Option<KeyValue>, u64), ClientError> {
    let response = channel.transact_idempotent(read_keys_txn(&[key])).await?;
    let kv = requests::key_values(&response).next().cloned();
    Ok((kv, requests::revision(&response)))
}
