//! Transfers of a leadership from the leader to a waiting candidate. A client can request a
//! transfer, and the leader can perform it.

use std::sync::Arc;

use thiserror::Error;

use crate::election::leadership::Leadership;
use crate::election::record_watcher::CandidateRecordWatcher;
use crate::election::records::{Candidate, nominate_txn};
use crate::error::{ClientError, LossReason};
use crate::lock::queue_entry::find_predecessor;
use crate::transport::channel::Channel;

/// Error of [`Leadership::transfer_to`].
#[derive(Debug, Error)]
#[error("{error}")]
pub struct TransferError {
    /// The leadership, if the nomination failed. The caller then still leads, unless `error` is
    /// [`ClientError::Lost`], and may drop the leadership to resign. `None` if the nomination
    /// succeeded, but the request to resign failed. The session then repeats this request.
    pub leadership: Option<Leadership>,
    /// Reason of the failure.
    #[source]
    pub error: ClientError,
}

impl Leadership {
    /// Waits until the leadership should pass to another candidate, and returns this candidate. A
    /// waiting candidate should lead if its priority is higher than that of the leader, or if a
    /// request for a transfer names the candidate. The leadership continues until the caller
    /// resigns.
    ///
    /// After the return, stop the work of the leader, and then call [`resign`](Leadership::resign).
    /// [`lead`](Leadership::lead) does both. A program that ignores this future keeps the
    /// leadership. The returned candidate may leave the election at any time.
    ///
    /// A leadership of [`Session::campaign`](crate::Session::campaign) has priority 0. Dropping the
    /// future has no effect: the next call waits for the same condition.
    ///
    /// # Errors
    ///
    /// [`ClientError::Lost`] if the leadership has ended, and [`ClientError::Rejected`] if the user
    /// may not read the records of the election.
    pub async fn wait_until_transfer_due(&self) -> Result<Candidate, ClientError> {
        tokio::select! {
            biased;
            reason = self.lost() => Err(reason.into()),
            candidate = self.preferred() => candidate,
        }
    }

    async fn preferred(&self) -> Result<Candidate, ClientError> {
        let mut records =
            CandidateRecordWatcher::new(self.session().channel().clone(), self.name());
        loop {
            let view = records.read_election(Some(self.key()), || self.is_alive()).await?;
            if view.own_create_revision != Some(self.fence()) {
                return Err(LossReason::KeyDeleted.into());
            }
            match records.preferred_over(&view, self.key(), self.fence()) {
                Some(candidate) => match records.has_claim(candidate).await {
                    Ok(true) => return Ok(candidate.clone()),
                    Ok(false) => records.record_claim_absence(candidate),
                    Err(ClientError::Unavailable { .. }) => {}
                    Err(error) => return Err(error),
                },
                None => records.wait_for_record_change().await,
            }
        }
    }

    /// Moves a waiting candidate to the place behind the leader in the queue, and returns when the
    /// candidate has this place. The leadership continues. To pass the leadership on, stop the work
    /// of the leader and call [`resign`](Leadership::resign).
    ///
    /// The other candidates of [`Session::campaign_with`](crate::Session::campaign_with) move
    /// behind this candidate in the queue. Candidates of
    /// [`Session::campaign`](crate::Session::campaign) and of the libraries of etcd do not move. If
    /// such a candidate is ahead in the queue, it leads first. If the nominated candidate leaves
    /// the election before the leader resigns, the next candidate in the queue leads.
    ///
    /// The wait has no time limit. If a candidate ahead in the queue is suspended, it does not move
    /// until its lease expires. If the future is dropped, the nomination stays in effect, so the
    /// leader can resign without this wait.
    ///
    /// # Errors
    ///
    /// [`ClientError::UnknownCandidate`] if no candidate with this identity waits,
    /// [`ClientError::Lost`] if the leadership has ended, [`ClientError::Unavailable`] if no member
    /// responds within ten seconds, and [`ClientError::Rejected`] if the service rejects a request.
    /// The leadership continues after every error except [`ClientError::Lost`].
    pub async fn nominate(&self, identity: &str) -> Result<Candidate, ClientError> {
        tokio::select! {
            biased;
            reason = self.lost() => Err(reason.into()),
            nominated = self.nominate_and_wait(identity) => nominated,
        }
    }

    async fn nominate_and_wait(&self, identity: &str) -> Result<Candidate, ClientError> {
        let channel = self.session().channel();
        let mut records = CandidateRecordWatcher::new(channel.clone(), self.name());
        loop {
            let candidate = request_transfer(channel, self.name(), identity, self.fence()).await?;
            // If the claim does not exist any more, the candidate has left the election or has a
            // new claim. The next request finds the new claim, or fails.
            if self.wait_until_next(&mut records, &candidate).await? {
                return Ok(candidate);
            }
        }
    }

    /// Waits until the candidate's claim directly follows the claim of the leader in the queue. The
    /// wait also ends if the candidate's claim directly follows a claim without a candidate record,
    /// such as a claim of etcd's libraries. A claim without a record never moves. Returns false if
    /// the claim of the candidate does not exist any more.
    async fn wait_until_next(
        &self,
        records: &mut CandidateRecordWatcher,
        candidate: &Candidate,
    ) -> Result<bool, ClientError> {
        loop {
            let view = records.read_election(Some(self.key()), || self.is_alive()).await?;
            if view.own_create_revision != Some(self.fence()) {
                return Err(LossReason::KeyDeleted.into());
            }
            let before = candidate.fence.saturating_sub(1);
            let (session, key) = (self.session(), &candidate.key[..]);
            let queue = find_predecessor(session, self.name(), key, before, 0).await?;
            if queue.own_create_revision != Some(candidate.fence) {
                return Ok(false);
            }
            // A claim with a candidate record soon moves behind the nominated candidate. Other
            // claims never move.
            let moves = |key: &Vec<u8>| view.candidates.iter().any(|it| it.key == *key);
            match queue.predecessor {
                Some(ahead) if ahead != self.key() && moves(&ahead) => {
                    records.wait_for_record_change().await
                }
                _ => return Ok(true),
            }
        }
    }

    fn is_alive(&self) -> bool {
        self.session().loss_reason().is_none()
    }

    /// Makes a waiting candidate the next leader, as [`nominate`](Leadership::nominate) does, and
    /// resigns. Stop the work of the leader before this call.
    ///
    /// If the future is dropped, the leader resigns, and the candidate may or may not be nominated.
    ///
    /// # Errors
    ///
    /// [`TransferError`]. If [`nominate`](Leadership::nominate) fails, the error contains the
    /// leadership. If [`resign`](Leadership::resign) fails, the error contains no leadership. The
    /// session then repeats the resignation until it succeeds or the session ends.
    pub async fn transfer_to(self, identity: &str) -> Result<(), TransferError> {
        if let Err(error) = self.nominate(identity).await {
            return Err(TransferError { leadership: Some(self), error });
        }
        self.resign().await.map_err(|error| TransferError { leadership: None, error })
    }
}

/// Requests that a candidate with this identity becomes the next leader, and returns this
/// candidate. Considers only claims that were created after the revision `after_revision`. If
/// several claims match, selects the newest one.
pub(crate) async fn request_transfer(
    channel: &Arc<Channel>,
    name: &str,
    identity: &str,
    after_revision: u64,
) -> Result<Candidate, ClientError> {
    let mut records = CandidateRecordWatcher::new(channel.clone(), name);
    let mut tried = Vec::new();
    loop {
        let view = records.read_election(None, || false).await?;
        let named = view.candidates.into_iter().rev();
        let named: Vec<Candidate> =
            named.filter(|it| it.identity == identity && it.fence > after_revision).collect();
        // If a candidate moves between the read and the transaction, it gets a new key. The next
        // read then finds the new key. If the read finds no new key, the candidate has left.
        if named == tried {
            return Err(ClientError::UnknownCandidate { identity: identity.to_owned() });
        }
        for candidate in &named {
            if channel.transact_idempotent(nominate_txn(name, candidate)).await?.succeeded {
                return Ok(candidate.clone());
            }
        }
        tried = named;
    }
}

/// Returns the candidates of an election that have an identity, in the order of the queue. The
/// leader is the first of them, unless a candidate without an identity leads. Omits each candidate
/// whose claim does not exist.
pub(crate) async fn read_leader_and_candidates(
    channel: &Arc<Channel>,
    name: &str,
) -> Result<Vec<Candidate>, ClientError> {
    let mut records = CandidateRecordWatcher::new(channel.clone(), name);
    let view = records.read_election(None, || false).await?;
    let mut candidates = Vec::new();
    for candidate in view.candidates {
        if records.has_claim(&candidate).await? {
            candidates.push(candidate);
        }
    }
    Ok(candidates)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::client::Client;
    use crate::election::records::NewCandidate;
    use crate::test_member::start_member;

    #[tokio::test]
    async fn delayed_copy_of_a_nomination_has_no_effect() {
        let (_folder, address) = start_member().await;
        let client = Client::connect([&address]).await.expect("a connection");
        let session = client.session(Duration::from_secs(60)).await.expect("a session");
        let channel = session.channel();
        // The candidates never move in the queue, because no task of theirs runs.
        for (key, identity) in [(b"boss/1", "first"), (b"boss/2", "second")] {
            let (name, lease) = ("boss", session.id());
            let new = NewCandidate { name, key, value: b"x", identity, priority: 0, lease };
            assert!(
                channel.transact_idempotent(new.enqueue_txn()).await.expect("a response").succeeded
            );
        }
        let candidates = read_leader_and_candidates(channel, "boss").await.expect("a response");
        let delayed = nominate_txn("boss", &candidates[0]);
        for identity in ["first", "second"] {
            request_transfer(channel, "boss", identity, 0).await.expect("a candidate");
        }
        let applied = channel.transact_idempotent(delayed).await.expect("a response").succeeded;
        assert!(!applied, "the later nomination takes precedence");
        // A later request for the same candidate takes effect.
        request_transfer(channel, "boss", "first", 0).await.expect("a candidate");
    }
}
