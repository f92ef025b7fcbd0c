//! Lock service: the server queues claims, and responds when a claim holds its lock. A claim is the
//! place of a client in the queue of a lock.

use std::pin::{Pin, pin};

use tenure_store::{
    AcquireLock, ApplyOutcome, Bytes, Claim, Command, CommandResult, Compare, CompareRelation,
    ComparedAttribute, Delete, Error, Event, KeySpan, LockMode, Principal, Put, Txn, TxnOperation,
};

use crate::auth::caller::Caller;
use crate::log::state::ClaimOutcome;
use crate::rpc::convert::{lease_to_wire, signed};
use crate::rpc::error::RpcError;
use crate::rpc::lease;
use tenure_etcd::v3lockpb as rpc;

pub(crate) async fn lock(
    caller: Caller,
    request: rpc::LockRequest,
) -> Result<rpc::LockResponse, RpcError> {
    let lease = lease::requested_or_new_lease(&caller, request.lease)
        .await
        .map_err(RpcError::with_unknown_code)?;
    let name = Bytes::from(request.name);
    let enqueue = AcquireLock { name, lease, mode: LockMode::Exclusive, value: Bytes::default() };
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
/// `expired_error`. If the future is dropped, withdraws the claim, as far as the rules below allow
/// this.
///
/// If no leader is known for the grace period, the call fails and the claim stays queued. The
/// client can then continue to wait at another member, with the same place in the queue.
///
/// Several calls may share one claim: a client that has stopped waiting for one call sends another
/// with the same lease. A withdrawal by one call must not delete a claim that another call has
/// returned as held. The following rules ensure this:
///
/// - A call returns a claim only if the last write to the key of the claim is its own. If the last
///   write is that of another call, the call first writes the key again, unchanged.
/// - A withdrawal deletes the key only if the last write to the key is that of the withdrawing
///   call.
/// - A call withdraws a claim only in two cases: the call has created the claim, or the claim did
///   not hold its lock when the call wrote the key. In both cases, no other call has returned the
///   claim before that write.
pub(crate) async fn acquire(
    caller: &Caller,
    enqueue: AcquireLock,
    expired_error: RpcError,
) -> Result<(Claim, u64), RpcError> {
    let mut leader_lost = pin!(caller.leader_lost());
    loop {
        let QueuedClaim { claim, is_held, revision, written } =
            queue_claim(caller, &enqueue).await?;
        let written = match written {
            Some(written) => written,
            None => match adopt(caller, &claim).await? {
                Some(written) => written,
                // The claim was deleted before this call could adopt it.
                None => continue,
            },
        };
        if is_held {
            return Ok((claim, revision));
        }
        let mut waiter = Waiter::new(caller.clone(), claim.clone(), written);
        match wait_for_claim(caller, &claim, leader_lost.as_mut()).await {
            Ok(ClaimOutcome::Acquired { .. }) => {}
            Ok(ClaimOutcome::Ended) => {
                waiter.claim = None;
                return Err(expired_error);
            }
            Err(error) => {
                waiter.claim = None;
                caller.with_state(|state| state.remove_closed_waiters(&claim.key));
                return Err(error);
            }
        }
        // The user may have lost a right, may have been deleted, or may have changed the password.
        // On an error the waiter withdraws the claim.
        let command = Command::AcquireLock(enqueue.clone());
        caller
            .check_store_access(|store, principal| store.authorize_command(principal, &command))?;
        waiter.claim = None;
        let last_write = caller.with_state(|state| state.last_claim_write(&claim));
        if last_write == Some(written) || adopt(caller, &claim).await?.is_some() {
            return Ok((claim, revision));
        }
    }
}

/// Waits until a claim holds its lock, or ends. Fails if the leader is lost.
async fn wait_for_claim(
    caller: &Caller,
    claim: &Claim,
    mut leader_lost: Pin<&mut impl Future<Output = ()>>,
) -> Result<ClaimOutcome, RpcError> {
    loop {
        let outcome = caller.with_state(|state| state.subscribe_to_claim(claim));
        let outcome = tokio::select! {
            outcome = outcome => outcome,
            () = &mut leader_lost => return Err(RpcError::NO_LEADER),
        };
        match outcome {
            Ok(outcome) => return Ok(outcome),
            // A snapshot replaced the store, so the claim is looked up again.
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

/// State of a claim after the command with which a call queued it.
struct QueuedClaim {
    claim: Claim,
    is_held: bool,
    /// Revision of the store after the command.
    revision: u64,
    /// Revision in which the command wrote the key of the claim. `None` if the claim existed with
    /// the same value, so that the command wrote nothing.
    written: Option<u64>,
}

impl QueuedClaim {
    fn from_outcome(outcome: ApplyOutcome) -> Result<Self, Error> {
        let ApplyOutcome { revision, result, events, .. } = outcome;
        let CommandResult::Enqueued { claim, holds_lock: is_held } = result? else {
            unreachable!("unexpected result of an enqueue")
        };
        let written = events.last().map(Event::revision);
        Ok(QueuedClaim { claim, is_held, revision, written })
    }
}

async fn queue_claim(caller: &Caller, enqueue: &AcquireLock) -> Result<QueuedClaim, RpcError> {
    let owner = caller.clone();
    let on_abandoned = move |outcome| {
        if let Ok(QueuedClaim { claim, written: Some(written), .. }) =
            QueuedClaim::from_outcome(outcome)
        {
            drop(Waiter::new(owner, claim, written));
        }
    };
    let command = Command::AcquireLock(enqueue.clone());
    let outcome = caller.propose_with_abandonment_handler(command, on_abandoned).await;
    let queued = QueuedClaim::from_outcome(outcome.map_err(RpcError::with_unknown_code)?);
    queued.map_err(|error| RpcError::from(error).with_unknown_code())
}

/// Writes the key of a claim again, unchanged. Earlier calls with the same claim can then no longer
/// withdraw it. Returns the revision of this write; `None` if the claim does not exist any more.
async fn adopt(caller: &Caller, claim: &Claim) -> Result<Option<u64>, RpcError> {
    let written = |outcome: &ApplyOutcome| match &outcome.result {
        Ok(CommandResult::Txn(done)) => done.succeeded.then_some(outcome.revision),
        _ => None,
    };
    let (owner, abandoned) = (caller.clone(), claim.clone());
    let on_abandoned = move |outcome| {
        if let Some(written) = written(&outcome) {
            drop(Waiter::new(owner, abandoned, written));
        }
    };
    let outcome = caller.propose_as_member(rewrite(claim), on_abandoned).await;
    let outcome = outcome.map_err(RpcError::with_unknown_code)?;
    let revision = written(&outcome);
    outcome.result.map_err(|error| RpcError::from(error).with_unknown_code())?;
    Ok(revision)
}

/// Call that waits for the lock of a queued claim. Dropping this value withdraws the claim in
/// `claim`.
struct Waiter {
    caller: Caller,
    /// Claim to withdraw on drop, and the revision in which this call last wrote its key. `None` if
    /// the claim stays queued.
    claim: Option<(Claim, u64)>,
}

impl Waiter {
    /// Returns a waiter for the call that has written the key of `claim` in the revision `written`.
    /// If the call must not withdraw the claim, the waiter contains no claim.
    fn new(caller: Caller, claim: Claim, written: u64) -> Self {
        // A claim that does not hold its lock now did not hold it when the key was written.
        let can_withdraw =
            written == claim.fence || !caller.with_state(|state| state.store.is_holder(&claim));
        Waiter { caller, claim: can_withdraw.then_some((claim, written)) }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let Some((claim, written)) = self.claim.take() else { return };
        let caller = self.caller.clone();
        caller.with_state(|state| state.remove_closed_waiters(&claim.key));
        tokio::spawn(async move {
            let (principal, command) = (Principal::Member, withdrawal(claim.key, written));
            // If the withdrawal fails, the claim ends with its lease.
            let _ = caller.member().propose_for(&principal, command, None, || Ok(())).await;
        });
    }
}

/// Returns a command that deletes the key of a claim. The command has no effect if the last write
/// to the key is not that of the revision `written`.
fn withdrawal(key: Bytes, written: u64) -> Command {
    let delete = Delete { span: KeySpan::single(key.clone()), prev_kv: false };
    let last_write = ComparedAttribute::Mod(signed(written));
    txn_if_equal(&key, vec![last_write], TxnOperation::Delete(delete))
}

/// Returns a command that writes the key of a claim with its current value and lease. The command
/// has no effect if the claim has ended.
fn rewrite(claim: &Claim) -> Command {
    let put =
        Put { key: claim.key.clone(), ignore_value: true, ignore_lease: true, ..Put::default() };
    let attributes = vec![
        ComparedAttribute::Create(signed(claim.fence)),
        ComparedAttribute::Lease(lease_to_wire(claim.lease)),
    ];
    txn_if_equal(&claim.key, attributes, TxnOperation::Put(put))
}

/// Returns a transaction that runs `operation` if the key was created in the revision `revision`.
pub(crate) fn txn_if_created_at(key: &Bytes, revision: i64, operation: TxnOperation) -> Command {
    txn_if_equal(key, vec![ComparedAttribute::Create(revision)], operation)
}

/// Returns a transaction that runs `operation` if the key has all of these attributes.
fn txn_if_equal(
    key: &Bytes,
    attributes: Vec<ComparedAttribute>,
    operation: TxnOperation,
) -> Command {
    let compare = |target| Compare {
        span: KeySpan::single(key.clone()),
        relation: CompareRelation::Equal,
        target,
    };
    let compare = attributes.into_iter().map(compare).collect();
    Command::Txn(Txn { compare, success: vec![operation], failure: Vec::new() })
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use futures_util::FutureExt;
    use tenure_store::{AccessChange, Permission, ROOT_NAME};

    use super::*;
    use crate::auth::caller::tests::member_with_users;
    use crate::member::Member;
    use crate::test_member::{TIME_LIMIT, TestMember};

    type Acquiring = Pin<Box<dyn Future<Output = Result<(Claim, u64), RpcError>>>>;

    const HOLDER: u64 = 1;

    /// Lease of the calls whose claims the tests examine.
    const SHARED: u64 = 7;

    async fn member_with_leases() -> TestMember {
        let member = TestMember::start();
        for lease in [HOLDER, SHARED] {
            member.execute(Command::Grant { lease, ttl: 600 }).await;
        }
        member
    }

    /// Returns a call that acquires the lock `jobs`. The call begins when it is first polled.
    fn call(member: &TestMember, lease: u64) -> Acquiring {
        call_as(Principal::Anonymous, &member.member, lease)
    }

    fn call_as(principal: Principal, member: &Arc<Member>, lease: u64) -> Acquiring {
        let caller = Caller::new(member.clone(), principal);
        let (name, value, mode) = (Bytes::from("jobs"), Bytes::default(), LockMode::Exclusive);
        let enqueue = AcquireLock { name, lease, mode, value };
        Box::pin(async move { acquire(&caller, enqueue, RpcError::LOCK_SESSION_EXPIRED).await })
    }

    /// Polls a call that waits until another client has caused `is_done`.
    async fn poll_until(call: &mut Acquiring, is_done: impl Fn() -> bool) {
        let started = Instant::now();
        while !is_done() {
            assert_eq!(call.as_mut().now_or_never(), None);
            assert!(started.elapsed() < TIME_LIMIT);
            tokio::task::yield_now().await;
        }
    }

    /// Returns the creation revision and the last revision of the key of the shared lease.
    fn revisions(member: &TestMember) -> Option<(u64, u64)> {
        member.member.with_state(|state| {
            let kv = state.store.get(b"jobs/7")?;
            Some((kv.create_revision, kv.mod_revision))
        })
    }

    /// Returns true if a second call has adopted the claim of the shared lease: the key was written
    /// again after its creation.
    fn is_adopted(member: &TestMember) -> bool {
        revisions(member).is_some_and(|(created, last)| created < last)
    }

    /// Returns two calls of the shared lease that wait for a lock of another lease. The first call
    /// has created their claim, and the second call has adopted it.
    async fn calls_that_wait(member: &TestMember) -> [Acquiring; 2] {
        call(member, HOLDER).await.expect("a lock");
        let [mut first, mut second] = [call(member, SHARED), call(member, SHARED)];
        poll_until(&mut first, || revisions(member).is_some()).await;
        poll_until(&mut second, || is_adopted(member)).await;
        [first, second]
    }

    /// Executes ten commands, so that the member also executes the commands that its tasks proposed
    /// before.
    async fn settle(member: &TestMember) {
        for _ in 0..10 {
            let put = Put { key: "other".into(), ..Put::default() };
            member.execute(Command::Put(put)).await;
        }
    }

    fn is_held(member: &TestMember, claim: &Claim) -> bool {
        member.member.with_state(|state| state.store.is_holder(claim))
    }

    #[tokio::test]
    async fn abandoned_call_keeps_claim_granted_to_its_retry() {
        let member = member_with_leases().await;
        let mut abandoned = call(&member, SHARED);
        assert_eq!(abandoned.as_mut().now_or_never(), None, "the command has no outcome yet");
        drop(abandoned);
        let (claim, _) = call(&member, SHARED).await.expect("a lock");
        settle(&member).await;
        assert!(is_held(&member, &claim));
    }

    #[tokio::test]
    async fn abandoned_waiter_keeps_claim_of_a_later_call() {
        let member = member_with_leases().await;
        let [first, second] = calls_that_wait(&member).await;
        drop(first);
        settle(&member).await;
        member.execute(Command::Revoke { lease: HOLDER }).await;
        let (claim, _) = second.await.expect("a lock");
        assert!(is_held(&member, &claim));
    }

    #[tokio::test]
    async fn abandoned_later_call_keeps_claim_granted_to_an_earlier_one() {
        let member = member_with_leases().await;
        let [first, mut second] = calls_that_wait(&member).await;
        settle(&member).await;
        assert_eq!(second.as_mut().now_or_never(), None, "the lock is held");
        member.execute(Command::Revoke { lease: HOLDER }).await;
        let (claim, _) = first.await.expect("a lock");
        drop(second);
        settle(&member).await;
        assert!(is_held(&member, &claim));
    }

    #[tokio::test]
    async fn abandoned_repetition_keeps_a_held_claim() {
        let member = member_with_leases().await;
        let (claim, _) = call(&member, SHARED).await.expect("a lock");
        let mut again = call(&member, SHARED);
        poll_until(&mut again, || is_adopted(&member)).await;
        drop(again);
        settle(&member).await;
        assert!(is_held(&member, &claim));
    }

    #[tokio::test]
    async fn last_abandoned_call_withdraws_the_claim() {
        let member = member_with_leases().await;
        let calls = calls_that_wait(&member).await;
        drop(calls);
        settle(&member).await;
        assert_eq!(revisions(&member), None);
    }

    #[tokio::test]
    async fn waiter_that_lost_its_permission_is_not_granted_the_lock() {
        let (_folder, member) = member_with_users("secret").await;
        let execute = async |command| {
            let outcome = member.propose(command).await.expect("an outcome");
            assert!(outcome.result.is_ok(), "{outcome:?}");
        };
        let (bob, role) = (String::from("bob"), String::from("jobs"));
        let (span, permission) = (KeySpan::prefix("jobs/"), Permission::ReadWrite);
        for change in [
            AccessChange::AddUser { name: bob.clone(), password: Bytes::default() },
            AccessChange::AddRole { name: role.clone() },
            AccessChange::Grant { role: role.clone(), span, permission },
            AccessChange::GrantRole { user: bob.clone(), role: role.clone() },
        ] {
            execute(Command::Access(change)).await;
        }
        for lease in [HOLDER, SHARED] {
            execute(Command::Grant { lease, ttl: 600 }).await;
        }
        call_as(Principal::User(ROOT_NAME.into()), &member, HOLDER).await.expect("a lock");
        let mut waiting = call_as(Principal::User(bob.clone()), &member, SHARED);
        let is_queued = || member.with_state(|state| state.store.get(b"jobs/7").is_some());
        poll_until(&mut waiting, is_queued).await;
        execute(Command::Access(AccessChange::RevokeRole { user: bob, role })).await;
        execute(Command::Revoke { lease: HOLDER }).await;
        assert_eq!(waiting.await.err(), Some(Error::PermissionDenied.into()));
        let started = Instant::now();
        while is_queued() {
            assert!(started.elapsed() < TIME_LIMIT, "the claim stays in the queue");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    #[tokio::test]
    async fn call_queues_another_claim_if_its_claim_is_deleted_at_once() {
        let member = member_with_leases().await;
        let (mut first, mut second) = (call(&member, SHARED), call(&member, SHARED));
        assert_eq!(first.as_mut().now_or_never(), None);
        assert_eq!(second.as_mut().now_or_never(), None);
        let delete = Delete { span: KeySpan::single("jobs/7"), prev_kv: false };
        member.execute(Command::Delete(delete)).await;
        let (claim, _) = second.await.expect("a lock");
        assert!(is_held(&member, &claim));
    }
}
