//! Locks that the server queues for: whoever asks is answered when they are inside.

use std::pin::pin;

use tenure_store::{
    Answer, Bytes, Claim, Command, Compare, Delete, Enqueue, Operation, Outcome, Relation, Share,
    Span, Target, Txn,
};

use crate::caller::Caller;
use crate::convert::signed;
use crate::member::Member;
use crate::refusal::Refusal;
use crate::rpc::lease;
use crate::state::Verdict;
use tenure_etcd::v3lockpb as rpc;

pub(crate) async fn lock(
    member: Caller,
    asked: rpc::LockRequest,
) -> Result<rpc::LockResponse, Refusal> {
    let lease =
        lease::given_or_hidden(&member, asked.lease).await.map_err(Refusal::into_unknown)?;
    let name = Bytes::from(asked.name);
    let enqueue = Enqueue { name, lease, share: Share::Exclusive, value: Bytes::default() };
    let (claim, _) = enter(&member, enqueue, Refusal::SESSION_OVER).await?;
    Ok(rpc::LockResponse { header: member.header_now(), key: claim.key.to_vec() })
}

pub(crate) async fn unlock(
    member: Caller,
    asked: rpc::UnlockRequest,
) -> Result<rpc::UnlockResponse, Refusal> {
    let span = Span::one(asked.key);
    let delete = Command::Delete(Delete { span, prev_kv: false });
    let (revision, _) = member.answer(delete).await.map_err(Refusal::into_unknown)?;
    Ok(rpc::UnlockResponse { header: member.header(revision) })
}

/// Queues, and waits until the claim is inside; says which it is, and the revision in which it
/// queued. Whoever stops waiting leaves the queue.
///
/// A claim keeps its place when the call ends for want of a leader. The client continues with it
/// at another member, and a withdrawal by this one could be committed after the grant there.
pub(crate) async fn enter(
    member: &Caller,
    enqueue: Enqueue,
    over: Refusal,
) -> Result<(Claim, u64), Refusal> {
    let leaving = member.clone();
    let leave = move |outcome| drop(new_claim(outcome).map(|claim| Waiter::of(leaving, claim)));
    let queued = member.propose_or(Command::Enqueue(enqueue), leave).await;
    let Outcome { revision, answer, .. } = queued.map_err(Refusal::into_unknown)?;
    let answer = answer.map_err(|error| Refusal::from(error).into_unknown())?;
    let Answer::Enqueued { claim, inside } = answer else {
        unreachable!("who queues is told of the place in the queue")
    };
    if inside {
        return Ok((claim, revision));
    }
    let mut waiter = Waiter::of(member.clone(), claim.clone());
    let mut leader_lost = pin!(member.leader_lost());
    loop {
        let verdict = member.look(|state| state.await_claim(&claim));
        let verdict = tokio::select! {
            verdict = verdict => verdict,
            () = &mut leader_lost => {
                waiter.claim = None;
                member.look(|state| state.forget_claim(&claim.key));
                return Err(Refusal::NO_LEADER);
            }
        };
        match verdict {
            Ok(Verdict::Inside { .. }) => {
                // The user may be another one by now, or none.
                member.is_valid()?;
                waiter.claim = None;
                return Ok((claim, revision));
            }
            Ok(Verdict::Ended) => {
                waiter.claim = None;
                return Err(over);
            }
            // The store was replaced: it is asked again.
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

/// Somebody who waits for a claim.
struct Waiter {
    member: Caller,
    /// Taken back when they stop waiting.
    claim: Option<Claim>,
}

impl Waiter {
    fn of(member: Caller, claim: Claim) -> Self {
        Waiter { member, claim: Some(claim) }
    }
}

/// The claim that an outcome has made, and that nobody had before.
fn new_claim(outcome: Outcome) -> Option<Claim> {
    let is_new = |claim: &Claim| claim.fence == outcome.revision;
    match outcome.answer {
        Ok(Answer::Enqueued { claim, .. }) => Some(claim).filter(is_new),
        _ => None,
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let Some(claim) = self.claim.take() else { return };
        let member = self.member.clone();
        member.look(|state| state.forget_claim(&claim.key));
        tokio::spawn(async move {
            // If that fails, its lease ends it.
            let _ = Member::propose(&member, withdrawal(&claim)).await;
        });
    }
}

/// The command that deletes the key of a claim, and of no later one.
pub(crate) fn withdrawal(claim: &Claim) -> Command {
    let delete = Delete { span: Span::one(claim.key.clone()), prev_kv: false };
    Command::Txn(Txn {
        compare: vec![is_of(&claim.key, claim.fence)],
        success: vec![Operation::Delete(delete)],
        failure: Vec::new(),
    })
}

/// Whether a key is the one that was created in this revision.
pub(crate) fn is_of(key: &Bytes, fence: u64) -> Compare {
    Compare {
        span: Span::one(key.clone()),
        relation: Relation::Equal,
        target: Target::Create(signed(fence)),
    }
}
