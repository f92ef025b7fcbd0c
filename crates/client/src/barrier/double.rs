//! Double barriers: participants begin a computation together and end it together.

use std::time::Instant;

use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::etcdserverpb::range_request::SortOrder;
use tenure_etcd::etcdserverpb::request_op::Request;
use tenure_etcd::mvccpb::KeyValue;

use crate::barrier::{wait_for_state, wait_until_deleted};
use crate::error::{ClientError, LossReason};
use crate::lock::claim::Claim;
use crate::lock::queue_entry::{QueueEntry, transact_while_alive};
use crate::lock::transactions::NewKey;
use crate::requests::{
    self, change_if_created_at_txn, create_revision_equals, op, put, queue_keys_range, unsigned,
};
use crate::session::Session;

/// Second-to-last segment of a participant's key, which has the form `NAME/waiters/LEASE`.
pub(crate) const WAITERS_KEY_SEGMENT: &str = "waiters";

/// A double barrier for a fixed number of participants.
///
/// [`DoubleBarrier::enter`] waits until all participants have entered.
/// [`DoubleBarrierGuard::leave`] waits until all participants have left. The keys are those of the
/// recipe `DoubleBarrier` of etcd's library for Go: `NAME/waiters/LEASE` for each participant, and
/// `NAME/ready`. All participants must state the same number. The barrier can be used again when
/// all participants have left.
#[derive(Clone, Debug)]
pub struct DoubleBarrier {
    session: Session,
    name: String,
    count: u32,
}

/// A participant that has entered a [`DoubleBarrier`]. When this value is dropped or the session
/// ends, the participant leaves the barrier without waiting for the other participants.
#[must_use = "dropping this leaves the barrier"]
#[derive(Debug)]
pub struct DoubleBarrierGuard {
    barrier: DoubleBarrier,
    claim: Claim,
}

/// A participant's key, and the revision in which the key was created.
type Participant = (Vec<u8>, u64);

impl Session {
    /// Returns the double barrier with this name. Sends no request. `participant_count` is the
    /// number of participants, and must be at least 1.
    pub fn double_barrier(&self, name: &str, participant_count: u32) -> DoubleBarrier {
        DoubleBarrier { session: self.clone(), name: name.to_owned(), count: participant_count }
    }
}

impl DoubleBarrier {
    /// Enters the barrier, and waits until all participants have entered. If the future is dropped,
    /// the session leaves the barrier. If the last participant has already written the key
    /// `NAME/ready`, the other participants continue. Otherwise, the barrier needs another
    /// participant in place of this session.
    ///
    /// # Errors
    ///
    /// [`ClientError::BarrierFull`] if the expected number of participants have entered already.
    /// [`ClientError::Lost`] if the session ends meanwhile, if another client deletes the key, or
    /// if the user loses the right to read the key. [`ClientError::Rejected`] if the service
    /// rejects a request. After an error, the session leaves the barrier if it has entered, if
    /// necessary in the background.
    pub async fn enter(&self) -> Result<DoubleBarrierGuard, ClientError> {
        self.session.while_alive(self.enter_and_wait()).await
    }

    async fn enter_and_wait(&self) -> Result<DoubleBarrierGuard, ClientError> {
        let full = || ClientError::BarrierFull { barrier: self.name.clone(), count: self.count };
        let count = usize::try_from(self.count).unwrap_or(usize::MAX);
        if self.participants().await?.0.len() >= count {
            return Err(full());
        }
        let queue = self.queue();
        let key = self.session.new_claim_key(&queue);
        let request = NewKey { key: &key, value: &[], lease: self.session.id() }.create_txn();
        let mut entry = QueueEntry::prepare(&self.session, &queue, key, request);
        let own = entry.wait_for_create_revision().await?.ok_or(LossReason::KeyDeleted)?;
        let claim = entry.into_claim(own).with_concurrent_holders();
        let (participants, _) = self.participants().await?;
        match participants.get(count - 1) {
            Some((_, last)) if own > *last => {
                // If the release fails, the session repeats it in the background.
                let _ = claim.release().await;
                return Err(full());
            }
            Some((_, last)) if own == *last => self.set_ready(&claim).await?,
            _ => tokio::select! {
                biased;
                ready = self.wait_until_ready(own) => ready?,
                reason = claim.lost() => return Err(reason.into()),
            },
        }
        Ok(DoubleBarrierGuard { barrier: self.clone(), claim })
    }

    fn queue(&self) -> String {
        format!("{}/{WAITERS_KEY_SEGMENT}", self.name)
    }

    fn ready_key(&self) -> Vec<u8> {
        format!("{}/ready", self.name).into_bytes()
    }

    /// Returns the participants of the barrier in the order in which they entered, and the revision
    /// of the store at the time of this read.
    async fn participants(&self) -> Result<(Vec<Participant>, u64), ClientError> {
        let queue = self.queue();
        let range = Request::RequestRange(queue_keys_range(&queue, SortOrder::Ascend));
        let request = rpc::TxnRequest { success: vec![op(range)], ..Default::default() };
        let response = transact_while_alive(&self.session, request, &mut 0).await?;
        let in_queue =
            requests::key_values(&response).filter(|kv| requests::is_in_queue(&queue, &kv.key));
        let participants = in_queue.map(|kv| (kv.key.clone(), unsigned(kv.create_revision)));
        Ok((participants.collect(), requests::revision(&response)))
    }

    /// Writes the key `NAME/ready`, which lets all participants continue. A delayed copy of the
    /// request has no effect after this participant has left.
    async fn set_ready(&self, claim: &Claim) -> Result<(), ClientError> {
        let put = put(&self.ready_key(), Vec::new(), 0);
        let request = change_if_created_at_txn(claim.key(), claim.fence(), put);
        match transact_while_alive(&self.session, request, &mut 0).await? {
            rpc::TxnResponse { succeeded: true, .. } => Ok(()),
            rpc::TxnResponse { .. } => Err(LossReason::KeyDeleted.into()),
        }
    }

    /// Waits until the last participant has entered and has written the key `NAME/ready`. `own` is
    /// the revision in which this participant entered. An older write of `NAME/ready` belongs to an
    /// earlier use of the barrier, and is ignored.
    async fn wait_until_ready(&self, own: u64) -> Result<(), ClientError> {
        let is_ready = |kv: Option<&KeyValue>| kv.is_some_and(|kv| unsigned(kv.mod_revision) > own);
        wait_for_state(self.session.channel(), &self.ready_key(), own + 1, is_ready).await
    }
}

impl DoubleBarrierGuard {
    /// Returns the time at which the session ends if it is not renewed. The session then leaves the
    /// barrier. Returns `None` if the session has already ended.
    pub fn deadline(&self) -> Option<Instant> {
        self.claim.session().deadline()
    }

    /// Waits until the participant can no longer rely on its place in the barrier, and returns the
    /// reason. This is the case if the session ends, if another client deletes the participant's
    /// key, or if the user loses the right to read this key. Once the key is deleted, the other
    /// participants no longer wait for this participant. Dropping the future has no effect.
    pub async fn lost(&self) -> LossReason {
        self.claim.lost().await
    }

    /// Leaves the barrier, and waits until all participants have left. If the future is dropped,
    /// the session leaves without waiting.
    ///
    /// # Errors
    ///
    /// [`ClientError::Lost`] if the session ends meanwhile, [`ClientError::Unavailable`] if no
    /// member confirms the deletion of the key within ten seconds, and [`ClientError::Rejected`] if
    /// the service rejects a request. In each case the session leaves in the background.
    pub async fn leave(self) -> Result<(), ClientError> {
        let DoubleBarrierGuard { barrier, claim } = self;
        barrier.session.while_alive(barrier.leave_and_wait(claim)).await
    }
}

impl DoubleBarrier {
    /// Leaves the barrier in the order that the recipe of etcd prescribes. The participant that
    /// entered first leaves last. It waits until all other participants have left. Each other
    /// participant deletes its key at once, and then waits until the key of the first participant
    /// is deleted.
    async fn leave_and_wait(&self, claim: Claim) -> Result<(), ClientError> {
        let channel = self.session.channel();
        let own = claim.key().to_vec();
        let (mut claim, mut last_entry) = (Some(claim), None);
        loop {
            let (mut participants, revision) = self.participants().await?;
            // A participant that enters after the first read belongs to the next use of the
            // barrier, and may itself wait for this participant.
            let last_entry = *last_entry.get_or_insert(revision);
            participants.retain(|(_, entered)| *entered <= last_entry);
            let [(first, entered), rest @ ..] = &participants[..] else { return Ok(()) };
            match (*first == own, rest.last(), claim.take()) {
                (true, Some((last, entered)), mine) => {
                    claim = mine;
                    wait_until_deleted(channel, last, *entered, revision + 1).await?;
                }
                (true, None, Some(mine)) => {
                    self.remove_ready(&mine).await?;
                    return mine.release().await;
                }
                // The member that served the read has not applied the deletion of this
                // participant's key yet, so the loop reads again.
                (true, None, None) => {}
                (false, _, mine) => {
                    if let Some(mine) = mine {
                        mine.release().await?;
                    }
                    wait_until_deleted(channel, first, *entered, revision + 1).await?;
                }
            }
        }
    }

    /// Deletes the key `NAME/ready`. If this participant has already left the barrier, does
    /// nothing.
    async fn remove_ready(&self, claim: &Claim) -> Result<(), ClientError> {
        let mut request = requests::delete_txn(&self.ready_key(), 0);
        request.compare.push(create_revision_equals(claim.key(), Vec::new(), claim.fence()));
        transact_while_alive(&self.session, request, &mut 0).await?;
        Ok(())
    }
}
