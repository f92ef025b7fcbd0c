//! Candidacies with an identity and a priority. A candidate waits in the queue of its election. If
//! a candidate with a higher rank waits behind it, the candidate *yields*: it moves to the end of
//! the queue.
//!
//! **Why there is at most one leader.** As with every client of etcd, the leader is the candidate
//! whose claim is first in the queue. A candidate that yields replaces its claim by a new claim in
//! a single transaction. So a candidate never has two claims.
//!
//! **Why yielding ends.** Requests for a transfer and priorities determine the rank of a candidate.
//! A candidate yields only to a candidate behind it with a higher rank, so the candidate with the
//! highest rank never yields. The candidate with the second-highest rank yields at most once,
//! because it is behind the highest from then on. By induction, each candidate yields finitely
//! often. Candidates without options, such as those of etcd's libraries, never yield.

use tenure_session::WaiterAction;

use crate::election::options::CampaignOptions;
use crate::election::record_watcher::CandidateRecordWatcher;
use crate::election::records::{Candidate, ElectionView, NewCandidate, candidate_record_key};
use crate::error::ClientError;
use crate::lock::claim::Claim;
use crate::lock::queue_entry::QueueEntry;
use crate::session::Session;
use crate::telemetry::metrics;

/// Place of a candidate in the queue of its election.
struct Place {
    entry: QueueEntry,
    /// Creation revision of the claim.
    fence: u64,
    /// True if the claim was first in the queue. The claim then stays first until it is deleted.
    is_first: bool,
}

pub(crate) async fn campaign_with_options(
    session: &Session,
    name: &str,
    options: &CampaignOptions,
) -> Result<Claim, ClientError> {
    session.while_alive(wait_to_lead(session, name, options)).await
}

async fn wait_to_lead(
    session: &Session,
    name: &str,
    options: &CampaignOptions,
) -> Result<Claim, ClientError> {
    let mut records = CandidateRecordWatcher::new(session.channel().clone(), name);
    let mut place = enqueue(session, name, options).await?;
    loop {
        // The loop also reads the records after the claim became first, because a preferred
        // candidate may wait behind the claim.
        let is_alive = || session.loss_reason().is_none();
        let view = records.read_election(Some(place.entry.key()), is_alive).await?;
        if view.own_create_revision != Some(place.fence) {
            place.entry.set_key_absent();
            return Err(session.query_key_deletion_reason().await.into());
        }
        let better = records.preferred_over(&view, place.entry.key(), place.fence);
        if let Some(better) = better {
            let next = yield_to(session, name, options, &mut place, better, &view).await?;
            match next {
                Some(next) => place = next,
                // Only the claim of `better` is checked here. If this candidate's own claim was
                // deleted, the next read of the loop detects the deletion.
                None => {
                    if is_absent(&mut records, better).await? {
                        records.record_claim_absence(better);
                    }
                }
            }
            continue;
        }
        if place.is_first {
            return Ok(place.entry.into_claim(place.fence));
        }
        tokio::select! {
            first = place.entry.resume_waiting(place.fence) => {
                first?;
                place.is_first = true;
            }
            () = records.wait_for_record_change() => {}
        }
    }
}

async fn enqueue(
    session: &Session,
    name: &str,
    options: &CampaignOptions,
) -> Result<Place, ClientError> {
    let key = session.new_claim_key(name);
    let request = candidate_keys(session, name, options, &key).enqueue_txn();
    let record = candidate_record_key(name, &key);
    let mut entry = QueueEntry::prepare(session, name, key, request).with_record_key(record);
    match entry.start_waiting().await? {
        (_, Some(WaiterAction::Removed)) => {
            entry.set_key_absent();
            Err(session.query_key_deletion_reason().await.into())
        }
        (fence, _) => Ok(Place { entry, fence, is_first: false }),
    }
}

/// Returns true if a member confirms that the claim of a candidate does not exist. Returns false if
/// the claim exists, or if no member responds.
async fn is_absent(
    records: &mut CandidateRecordWatcher,
    candidate: &Candidate,
) -> Result<bool, ClientError> {
    match records.has_claim(candidate).await {
        Ok(has_claim) => Ok(!has_claim),
        Err(ClientError::Unavailable { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Moves the candidate to the end of the queue, because the candidate `better` should lead first.
/// Returns the new place of the candidate. Returns `None` if the old claim of the candidate or the
/// claim of `better` has been deleted. Also returns `None` if a new request for a transfer names
/// the candidate itself.
async fn yield_to(
    session: &Session,
    name: &str,
    options: &CampaignOptions,
    place: &mut Place,
    better: &Candidate,
    view: &ElectionView,
) -> Result<Option<Place>, ClientError> {
    let key = session.new_claim_key(name);
    let own = (place.entry.key(), place.fence);
    let request = candidate_keys(session, name, options, &key).yield_txn(own, better, view);
    let record = candidate_record_key(name, &key);
    let next = QueueEntry::prepare_without_releases(session, name, key, request);
    // If this future is dropped, each entry deletes its key. Only one of the two keys exists.
    let mut next = next.with_record_key(record).with_start_time_of(&place.entry);
    match next.start_waiting().await? {
        (_, Some(WaiterAction::Removed)) => {
            next.set_key_and_record_absent();
            Ok(None)
        }
        (fence, _) => {
            place.entry.set_key_and_record_absent();
            metrics::candidate_yielded();
            tracing::debug!(name, preferred = better.identity, "candidate yields");
            Ok(Some(Place { entry: next, fence, is_first: false }))
        }
    }
}

fn candidate_keys<'a>(
    session: &Session,
    name: &'a str,
    options: &'a CampaignOptions,
    key: &'a [u8],
) -> NewCandidate<'a> {
    NewCandidate {
        name,
        key,
        value: options.value_or_identity(),
        identity: &options.identity,
        priority: options.priority,
        lease: session.id(),
    }
}
