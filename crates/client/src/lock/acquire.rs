//! Acquisition of locks and leaderships: puts a claim into a queue, and waits until it is first.

use tenure_session::WaiterAction;

use crate::error::ClientError;
use crate::lock::claim::Claim;
use crate::lock::queue_entry::{HandOver, QueueEntry, find_predecessor};
use crate::requests;
use crate::session::Session;

/// Puts a claim into a queue, and waits until the claim is first.
pub(crate) async fn acquire(
    session: &Session,
    name: &str,
    value: Vec<u8>,
    hand_over: HandOver,
) -> Result<Claim, ClientError> {
    let key = session.new_key(name);
    let request = requests::enqueue(name, &key, value, session.id());
    let releases = session.releases().take_batch();
    let mut entry = QueueEntry::enqueue(session, name, key, request, releases, hand_over);
    let reason = tokio::select! {
        biased;
        reason = session.lost() => reason,
        fence = entry.wait() => {
            let fence = fence?;
            // The session must be alive at some moment after the claim became first.
            match session.end_reason() {
                None => return Ok(entry.into_claim(fence)),
                Some(reason) => reason,
            }
        }
    };
    Err(reason.into())
}

/// Puts a claim into a queue if the queue is empty. Returns `None` otherwise.
pub(crate) async fn try_acquire(
    session: &Session,
    name: &str,
    value: Vec<u8>,
) -> Result<Option<Claim>, ClientError> {
    let key = session.new_key(name);
    let request = requests::enqueue_if_empty(name, &key, value.clone(), session.id());
    // The request includes no releases: it compares before it deletes.
    let hand_over = HandOver::OnDeletion;
    let mut entry = QueueEntry::enqueue(session, name, key, request, Vec::new(), hand_over);
    let enqueued = tokio::select! {
        biased;
        reason = session.lost() => return Err(reason.into()),
        enqueued = entry.enqueued() => enqueued?,
    };
    if let Some(reason) = session.end_reason() {
        return Err(reason.into());
    }
    if let Some(fence) = enqueued.view.own {
        return Ok(Some(entry.into_claim(fence)));
    }
    entry.set_key_absent();
    // The range may contain only keys of other locks, whose names begin with this one.
    let search = find_predecessor(session, name, entry.key(), 0, 0);
    let view = tokio::select! {
        biased;
        reason = session.lost() => return Err(reason.into()),
        view = search => view?,
    };
    match view.predecessor {
        Some(_) => Ok(None),
        None => try_acquire_among_nested(session, name, value).await,
    }
}

/// Like [`try_acquire`], for a name below which keys of other locks exist. Puts the claim into the
/// queue first, and removes it again unless it is first.
async fn try_acquire_among_nested(
    session: &Session,
    name: &str,
    value: Vec<u8>,
) -> Result<Option<Claim>, ClientError> {
    let key = session.new_key(name);
    let request = requests::enqueue(name, &key, value, session.id());
    let hand_over = HandOver::OnDeletion;
    let mut entry = QueueEntry::enqueue(session, name, key, request, Vec::new(), hand_over);
    let started = tokio::select! {
        biased;
        reason = session.lost() => return Err(reason.into()),
        started = entry.start() => started?,
    };
    match (started.1, session.end_reason()) {
        (_, Some(reason)) => Err(reason.into()),
        (Some(WaiterAction::Acquired { fence }), None) => Ok(Some(entry.into_claim(fence))),
        (Some(WaiterAction::Removed), None) => {
            entry.set_key_absent();
            Err(session.deletion_reason().await.into())
        }
        _ => Ok(None),
    }
}
