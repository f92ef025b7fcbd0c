//! Acquisition of locks and leaderships. The client puts a claim into a queue, and waits until the
//! claim is first.

use tenure_session::WaiterAction;

use crate::error::ClientError;
use crate::lock::claim::Claim;
use crate::lock::queue_entry::{HandOverEvent, QueueEntry, find_predecessor};
use crate::requests;
use crate::session::Session;

pub(crate) async fn acquire(
    session: &Session,
    name: &str,
    value: Vec<u8>,
    hand_over: HandOverEvent,
) -> Result<Claim, ClientError> {
    session.check_alive()?;
    let key = session.new_claim_key(name);
    let request = requests::enqueue_txn(name, &key, value, session.id());
    let mut entry = QueueEntry::prepare(session, name, key, request).with_hand_over(hand_over);
    let fence = session.while_alive(entry.wait_until_first()).await?;
    Ok(entry.into_claim(fence))
}

/// Puts a claim into a queue if the queue is empty. Returns `None` otherwise.
pub(crate) async fn try_acquire(
    session: &Session,
    name: &str,
    value: Vec<u8>,
) -> Result<Option<Claim>, ClientError> {
    session.check_alive()?;
    let key = session.new_claim_key(name);
    let request = requests::enqueue_if_empty_txn(name, &key, value.clone(), session.id());
    let mut entry = QueueEntry::prepare_without_releases(session, name, key, request);
    if let Some(fence) = session.while_alive(entry.wait_for_create_revision()).await? {
        return Ok(Some(entry.into_claim(fence)));
    }
    // The request also fails if the range contains only keys of other locks, whose names begin with
    // this name. The queue itself is then empty.
    let search = find_predecessor(session, name, entry.key(), 0, 0);
    match session.while_alive(search).await?.predecessor {
        Some(_) => Ok(None),
        None => try_acquire_among_nested(session, name, value).await,
    }
}

/// Acquires a lock without waiting. Adds a claim to the queue of the lock. If another claim is
/// ahead of this claim in the queue, removes this claim and returns `None`.
///
/// This function is for a lock whose range of keys also contains the keys of other locks. A request
/// that requires an empty range would fail because of these keys.
async fn try_acquire_among_nested(
    session: &Session,
    name: &str,
    value: Vec<u8>,
) -> Result<Option<Claim>, ClientError> {
    let key = session.new_claim_key(name);
    let request = requests::enqueue_txn(name, &key, value, session.id());
    let mut entry = QueueEntry::prepare_without_releases(session, name, key, request);
    match session.while_alive(entry.start_waiting()).await?.1 {
        Some(WaiterAction::Acquired { fence }) => Ok(Some(entry.into_claim(fence))),
        Some(WaiterAction::Removed) => {
            entry.set_key_absent();
            Err(session.query_key_deletion_reason().await.into())
        }
        _ => Ok(None),
    }
}
