//! Proposes log entries for leases. There are two kinds: a checkpoint records the remaining times
//! of leases, and an expiry ends leases. A renewal that needs a checkpoint with the full TTL waits
//! for it. One log entry covers many leases.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tenure_store::{Command, LeaseChange, LeaseCheckpoint, LeaseId};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, sleep_until, timeout, timeout_at};

use crate::log::lease_timers::{MAX_LEASES_PER_COMMAND, MAX_TIMER_DELAY};
use crate::log::state::StoreAndWaiters;
use crate::member::Member;
use crate::rpc::error::RpcError;

/// Upper bound on the time between two checks of the lease timers.
const MAX_TIMER_INTERVAL: Duration = Duration::from_millis(100);

/// Time for which a leader processes received renewals after a suspension, before it lets leases
/// expire.
const CATCH_UP_TIME: Duration = Duration::from_millis(100);

/// Shortest time between two log entries with renewals from this member. Renewals that arrive in
/// the meantime share the next entry. So the number of entries does not grow with the number of
/// sessions.
const BATCH_INTERVAL: Duration = Duration::from_millis(50);

/// Time limit for recording the remaining times of the leases before a handover of leadership.
const CHECKPOINT_TIMEOUT: Duration = Duration::from_millis(500);

/// Request for a checkpoint that records the full TTL of a lease. A renewal waits for the
/// checkpoint.
#[derive(Debug)]
pub(crate) struct PendingLeaseCheckpoint {
    lease: LeaseId,
    ttl: u64,
    /// Term of the leader that required this checkpoint.
    term: u64,
    reply: oneshot::Sender<Result<bool, RpcError>>,
}

/// Sender of checkpoints to the task that proposes them in batches.
#[derive(Debug)]
pub(crate) struct LeaseCheckpointQueue(mpsc::UnboundedSender<PendingLeaseCheckpoint>);

impl LeaseCheckpointQueue {
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<PendingLeaseCheckpoint>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (LeaseCheckpointQueue(sender), receiver)
    }

    /// Proposes a log entry that sets the remaining time of a lease to its full TTL, and waits for
    /// the outcome. `ttl` is this TTL in seconds, and `term` is the term of the leader that
    /// required the entry. Returns true if the entry had this effect. Returns false if it had no
    /// effect, because another member leads or the lease does not exist.
    pub(crate) async fn checkpoint_full_ttl(
        &self,
        lease: LeaseId,
        ttl: u64,
        term: u64,
        deadline: tokio::time::Instant,
    ) -> Result<bool, RpcError> {
        let (reply, response) = oneshot::channel();
        let checkpoint = PendingLeaseCheckpoint { lease, ttl, term, reply };
        self.0.send(checkpoint).map_err(|_| RpcError::STOPPED)?;
        let recorded = timeout_at(deadline, response).await.map_err(|_| RpcError::TIMED_OUT)?;
        recorded.map_err(|_| RpcError::STOPPED)?
    }
}

/// Proposes the queued checkpoints until the member is dropped. One log entry contains many
/// checkpoints.
pub(crate) async fn propose_lease_checkpoints(
    member: Weak<Member>,
    mut pending: mpsc::UnboundedReceiver<PendingLeaseCheckpoint>,
) {
    let mut waiting = Vec::new();
    let mut next = tokio::time::Instant::now();
    while pending.recv_many(&mut waiting, MAX_LEASES_PER_COMMAND).await > 0 {
        sleep_until(next).await;
        while waiting.len() < MAX_LEASES_PER_COMMAND
            && let Ok(checkpoint) = pending.try_recv()
        {
            waiting.push(checkpoint);
        }
        next = tokio::time::Instant::now() + BATCH_INTERVAL;
        let Some(member) = member.upgrade() else { return };
        let mut terms = BTreeMap::<u64, Vec<PendingLeaseCheckpoint>>::new();
        for checkpoint in waiting.drain(..) {
            terms.entry(checkpoint.term).or_default().push(checkpoint);
        }
        for (term, batch) in terms {
            checkpoint_batch(&member, term, batch).await;
        }
    }
}

async fn checkpoint_batch(member: &Member, term: u64, batch: Vec<PendingLeaseCheckpoint>) {
    let full_time = |it: &PendingLeaseCheckpoint| LeaseCheckpoint {
        lease: it.lease,
        left: it.ttl,
        renewal_index: 0,
    };
    let leases = batch.iter().map(full_time).collect();
    let recorded = member.propose(Command::Checkpoint { term, leases }).await;
    // If the checkpoint was of an earlier term, the outcome contains no change of a lease.
    let recorded =
        recorded.map(|outcome| outcome.lease_changes.into_iter().collect::<HashSet<_>>());
    for PendingLeaseCheckpoint { lease, ttl, reply, .. } in batch {
        let full = LeaseChange::Remaining { lease, seconds: ttl };
        // The client may have stopped waiting.
        let _ = reply.send(match &recorded {
            Ok(recorded) => Ok(recorded.contains(&full)),
            Err(error) => Err(error.clone()),
        });
    }
}

/// Proposes checkpoints and expiries of leases when they are due, until the member is dropped.
pub(crate) async fn propose_due_lease_commands(member: Weak<Member>) {
    let mut expected = Instant::now();
    loop {
        let Some(member) = member.upgrade() else { return };
        if expected.elapsed() > MAX_TIMER_DELAY {
            sleep(CATCH_UP_TIME).await;
        }
        let now = Instant::now();
        let due = member.with_state(|StoreAndWaiters { lease_timers, store, .. }| {
            lease_timers.take_due_commands(store, now)
        });
        due.into_iter()
            .for_each(|command| drop(tokio::spawn(propose_or_retry(member.clone(), command))));
        let next = member.with_state(|state| state.lease_timers.next_deadline());
        let pause = next.map_or(MAX_TIMER_INTERVAL, |next| {
            next.saturating_duration_since(now).min(MAX_TIMER_INTERVAL)
        });
        drop(member);
        expected = now + pause;
        sleep(pause).await;
    }
}

/// Proposes a checkpoint or an expiry. If the proposal of an expiry fails, it is proposed again
/// later.
async fn propose_or_retry(member: Arc<Member>, command: Command) {
    if member.propose(command.clone()).await.is_err() {
        member
            .with_state(|state| state.lease_timers.schedule_expiry_retry(&command, Instant::now()));
    }
}

impl Member {
    /// Records the remaining times of all leases if this member leads, so that the next leader
    /// continues from these times. Gives up after [`CHECKPOINT_TIMEOUT`].
    pub(crate) async fn checkpoint_leases_for_handover(&self) {
        let now = Instant::now();
        let checkpoints = self.with_state(|StoreAndWaiters { lease_timers, store, .. }| {
            lease_timers.take_handover_checkpoints(store, now)
        });
        let proposing = async {
            for checkpoint in checkpoints {
                // After a failure the next leader continues from the previous checkpoint.
                let _ = self.propose(checkpoint).await;
            }
        };
        let _ = timeout(CHECKPOINT_TIMEOUT, proposing).await;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tenure_store::{CommandResult, ExpiredLease, Principal};

    use super::*;
    use crate::auth::caller::Caller;
    use crate::config::Config;
    use crate::log::proposal::MAX_PENDING_PROPOSALS;
    use crate::test_member::TestMember;

    #[tokio::test]
    async fn limits_of_clients_do_not_prevent_expiries() {
        let config = Config { max_request_bytes: 8 << 10, ..Config::default() };
        let TestMember { member, .. } = &TestMember::start_with(config);
        let grant = |lease| Command::Grant { lease, ttl: 600 };
        member.propose(grant(7)).await.expect("an outcome");
        let caller = Caller::new(member.clone(), Principal::Anonymous);
        let mut open: Vec<_> = (0..MAX_PENDING_PROPOSALS as u64)
            .map(|number| Box::pin(caller.execute(grant(10_000 + number))))
            .collect();
        for request in &mut open {
            assert_eq!(request.as_mut().now_or_never(), None);
        }
        assert_eq!(caller.execute(grant(8)).await, Err(RpcError::TOO_MANY_REQUESTS));
        let expiry = |lease| ExpiredLease { lease, renewal_index: u64::MAX };
        let leases = (1..=MAX_LEASES_PER_COMMAND as u64).map(expiry).collect();
        let term = member.leader_status().term;
        let expired = member.propose(Command::Expire { term, leases }).await.expect("an outcome");
        assert_eq!(expired.result, Ok(CommandResult::Expired { ended_lease_count: 1 }));
    }
}
