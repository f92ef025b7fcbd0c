//! Lock service: the server queues claims, and responds when a claim holds its lock. A claim is the
//! place of a client in the queue of a lock.

use std::pin::pin;

use tenure_store::{
    ApplyOutcome, Bytes, Claim, Command, CommandResult, Compare, CompareRelation,
    ComparedAttribute, Delete, Enqueue, KeySpan, LockMode, Txn, TxnOperation,
};

use crate::auth::caller::Caller;
use crate::log::state::ClaimOutcome;
use crate::member::Member;
use crate::rpc::convert::signed;
use crate::rpc::error::RpcError;
use crate::rpc::lease;
use tenure_etcd::v3lockpb as rpc;

pub(crate) async fn lock(
    caller: Caller,
    request: rpc::LockRequest,
) -> Result<rpc::LockResponse, RpcError> {
    let lease =
        lease::lease_or_grant(&caller, request.lease).await.map_err(RpcError::with_unknown_code)?;
    let name = Bytes::from(request.name);
    let enqueue = Enqueue { name, lease, mode: LockMode::Exclusive, value: Bytes::default() };
    let (claim, _) = acquire(&caller, enqueue, RpcError::LOCK_SESSION_EXPIRED).await?;
    Ok(rpc::LockResponse { header: caller.current_response_header(), key: claim.key.to_vec() })
}

pub(crate) async fn unlock(
    caller: Caller,
    request: rpc::UnlockRequest,
) -> Result<rpc::UnlockResponse, RpcError> {
    let span = KeySpan::single(request.key);
    let delete = Command::Delete(Delete { span, prev_kv: false });
    let (revision, _) = caller.execute(delete).await.map_err(RpcError::with_unknown_code)?;
    Ok(rpc::UnlockResponse { header: caller.response_header(revision) })
}

/// Queues a claim and waits until the claim holds its lock. Returns the claim, and the revision of
/// the store after the claim was queued. If the claim ends during the wait, fails with
/// `expired_error`. If the future is dropped, withdraws the claim.
///
/// If no leader is known for the grace period, the call fails and the claim stays queued. The
/// client continues to wait at another member. A late withdrawal could release a lock that was
/// granted meanwhile.
pub(crate) async fn acquire(
    caller: &Caller,
    enqueue: Enqueue,
    expired_error: RpcError,
) -> Result<(Claim, u64), RpcError> {
    let owner = caller.clone();
    let on_abandoned =
        move |outcome| drop(new_claim(outcome).map(|claim| Waiter::new(owner, claim)));
    let enqueued = caller.propose_with_on_abandoned(Command::Enqueue(enqueue), on_abandoned).await;
    let ApplyOutcome { revision, result, .. } = enqueued.map_err(RpcError::with_unknown_code)?;
    let result = result.map_err(|error| RpcError::from(error).with_unknown_code())?;
    let CommandResult::Enqueued { claim, is_held } = result else {
        unreachable!("unexpected result of an enqueue")
    };
    if is_held {
        return Ok((claim, revision));
    }
    let mut waiter = Waiter::new(caller.clone(), claim.clone());
    let mut leader_lost = pin!(caller.leader_lost());
    loop {
        let outcome = caller.with_state(|state| state.subscribe_to_claim(&claim));
        let outcome = tokio::select! {
            outcome = outcome => outcome,
            () = &mut leader_lost => {
                waiter.claim = None;
                caller.with_state(|state| state.remove_closed_waiters(&claim.key));
                return Err(RpcError::NO_LEADER);
            }
        };
        match outcome {
            Ok(ClaimOutcome::Acquired { .. }) => {
                // The user may have been deleted, or may have changed the password.
                caller.recheck_identity()?;
                waiter.claim = None;
                return Ok((claim, revision));
            }
            Ok(ClaimOutcome::Ended) => {
                waiter.claim = None;
                return Err(expired_error);
            }
            // A snapshot replaced the store, so the claim is looked up again.
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

/// Call that waits for the lock of a queued claim. Dropping this value withdraws the claim.
struct Waiter {
    caller: Caller,
    /// Claim to withdraw on drop; `None` if the claim stays queued.
    claim: Option<Claim>,
}

impl Waiter {
    fn new(caller: Caller, claim: Claim) -> Self {
        Waiter { caller, claim: Some(claim) }
    }
}

/// Returns the claim that a command has added to a queue. Returns `None` if the claim existed
/// before the command.
fn new_claim(outcome: ApplyOutcome) -> Option<Claim> {
    let is_new = |claim: &Claim| claim.fence == outcome.revision;
    match outcome.result {
        Ok(CommandResult::Enqueued { claim, .. }) => Some(claim).filter(is_new),
        _ => None,
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let Some(claim) = self.claim.take() else { return };
        let caller = self.caller.clone();
        caller.with_state(|state| state.remove_closed_waiters(&claim.key));
        tokio::spawn(async move {
            // If the withdrawal fails, the claim ends with its lease.
            let _ = Member::propose(&caller, withdrawal(&claim)).await;
        });
    }
}

/// Returns a command that deletes the key of a claim. The command has no effect if another claim
/// has created the key again.
fn withdrawal(claim: &Claim) -> Command {
    let delete = Delete { span: KeySpan::single(claim.key.clone()), prev_kv: false };
    txn_if_created_at(claim.key.clone(), signed(claim.fence), TxnOperation::Delete(delete))
}

pub(crate) fn txn_if_created_at(key: Bytes, revision: i64, operation: TxnOperation) -> Command {
    let (relation, target) = (CompareRelation::Equal, ComparedAttribute::Create(revision));
    let compare = vec![Compare { span: KeySpan::single(key), relation, target }];
    Command::Txn(Txn { compare, success: vec![operation], failure: Vec::new() })
}
