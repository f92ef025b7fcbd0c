//! Commands from their admission until their outcome is known. The limits include a command even
//! after its client has stopped waiting.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tenure_store::ApplyOutcome;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, timeout, timeout_at};

use crate::log::request::ProposeError;
use crate::rpc::error::RpcError;

/// Upper bound on the commands of a member's clients that have no outcome yet.
pub(crate) const MAX_PENDING_PROPOSALS: usize = 4000;

/// Upper bound on the total bytes of the commands of a member's clients that have no outcome yet.
const MAX_PENDING_BYTES: usize = 64 << 20;

/// Upper bound on the commands of a member's own work, such as the expiry of leases, that have no
/// outcome yet.
const MAX_OWN_PENDING_PROPOSALS: usize = 1000;

/// Upper bound on the total bytes of the commands of a member's own work that have no outcome yet.
const MAX_OWN_PENDING_BYTES: usize = 32 << 20;

/// Upper bound on all commands of one member that have no outcome yet.
pub(crate) const MAX_PENDING_PER_MEMBER: usize = MAX_PENDING_PROPOSALS + MAX_OWN_PENDING_PROPOSALS;

/// Unit in which the bytes of commands are counted. The length of a command is rounded up to whole
/// units.
const UNIT_BYTES: usize = 1 << 10;

/// Time after which [`ProposalLimit`] ignores a command if its client has stopped waiting and its
/// outcome is unknown. Such a command has most likely been lost.
const UNDECIDED_TIMEOUT: Duration = Duration::from_secs(60);

/// Callback that receives the outcome of a command whose caller has stopped waiting. It is not
/// called if the outcome stays unknown.
pub(crate) type AbandonmentHandler = Box<dyn FnOnce(ApplyOutcome) + Send>;

type ProposalResult = Result<ApplyOutcome, ProposeError>;

/// Upper bounds on the number and the total bytes of commands that have no outcome yet.
#[derive(Debug)]
pub(crate) struct ProposalLimit {
    slots: Arc<Semaphore>,
    units: Arc<Semaphore>,
}

impl ProposalLimit {
    /// Creates the limit of commands that clients cause.
    pub(crate) fn for_clients() -> Self {
        ProposalLimit::new(MAX_PENDING_PROPOSALS, MAX_PENDING_BYTES)
    }

    /// Creates the limit of commands that a member proposes for its own work, and not for a client.
    pub(crate) fn for_own_commands() -> Self {
        ProposalLimit::new(MAX_OWN_PENDING_PROPOSALS, MAX_OWN_PENDING_BYTES)
    }

    fn new(commands: usize, bytes: usize) -> Self {
        let limits = [commands, bytes / UNIT_BYTES];
        let [slots, units] = limits.map(|limit| Arc::new(Semaphore::new(limit)));
        ProposalLimit { slots, units }
    }

    /// Admits a command of `bytes` bytes, or fails at once. `on_abandoned` receives the outcome of
    /// the command if the returned value is dropped while the outcome is unknown.
    ///
    /// # Errors
    ///
    /// [`RpcError::TOO_MANY_REQUESTS`] if a limit is reached.
    pub(crate) fn admit(
        &self,
        bytes: usize,
        on_abandoned: Option<AbandonmentHandler>,
    ) -> Result<AdmittedProposal, RpcError> {
        let units = u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX);
        let slot = self.slots.clone().try_acquire_owned();
        let units = self.units.clone().try_acquire_many_owned(units);
        let permits =
            slot.and_then(|slot| Ok([slot, units?])).map_err(|_| RpcError::TOO_MANY_REQUESTS)?;
        Ok(AdmittedProposal { outcome: None, permits: Some(permits), on_abandoned })
    }
}

/// Command that [`ProposalLimit`] has admitted.
///
/// After its proposal, the command counts against the limit until its outcome is known. If this
/// value is dropped earlier, the command counts for at most [`UNDECIDED_TIMEOUT`] longer. The drop
/// does not remove the command from the log.
pub(crate) struct AdmittedProposal {
    /// Receiver of the outcome. `None` before the wait, and after the outcome was received.
    outcome: Option<oneshot::Receiver<ProposalResult>>,
    permits: Option<[OwnedSemaphorePermit; 2]>,
    on_abandoned: Option<AbandonmentHandler>,
}

impl fmt::Debug for AdmittedProposal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proposal").field("outcome", &self.outcome).finish_non_exhaustive()
    }
}

impl AdmittedProposal {
    /// Waits for the outcome of the command until the deadline.
    ///
    /// # Errors
    ///
    /// [`RpcError::TIMED_OUT`] at the deadline, and [`RpcError::STOPPED`] if the log has ended.
    pub(crate) async fn wait_for_outcome(
        &mut self,
        outcome: oneshot::Receiver<ProposalResult>,
        deadline: Instant,
    ) -> Result<ProposalResult, RpcError> {
        let received = timeout_at(deadline, self.outcome.insert(outcome)).await;
        let received = received.map_err(|_| RpcError::TIMED_OUT)?;
        self.outcome = None;
        received.map_err(|_| RpcError::STOPPED)
    }
}

impl Drop for AdmittedProposal {
    fn drop(&mut self) {
        let (Some(outcome), Ok(runtime)) = (self.outcome.take(), Handle::try_current()) else {
            return;
        };
        let (permits, on_abandoned) = (self.permits.take(), self.on_abandoned.take());
        runtime.spawn(async move {
            let received = timeout(UNDECIDED_TIMEOUT, outcome).await;
            drop(permits);
            if let (Ok(Ok(Ok(outcome))), Some(on_abandoned)) = (received, on_abandoned) {
                on_abandoned(outcome);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use tenure_store::{Command, LogPosition, Store};

    use super::*;

    fn outcome() -> ApplyOutcome {
        let mut store = Store::default();
        store.apply(LogPosition { index: 1, term: 1 }, Command::Grant { lease: 1, ttl: 60 })
    }

    #[tokio::test]
    async fn abandoned_proposal_counts_until_it_is_decided() {
        let limit = ProposalLimit::for_clients();
        let (abandoned, mut outcomes) = tokio::sync::mpsc::unbounded_channel();
        let (reply, receiver) = oneshot::channel();
        {
            let on_abandoned: AbandonmentHandler =
                Box::new(move |outcome| drop(abandoned.send(outcome)));
            let mut proposal = limit.admit(MAX_PENDING_BYTES, Some(on_abandoned)).expect("room");
            let soon = Instant::now() + Duration::from_millis(1);
            let waited = proposal.wait_for_outcome(receiver, soon).await;
            assert_eq!(waited.err(), Some(RpcError::TIMED_OUT));
        }
        tokio::task::yield_now().await;
        assert_eq!(limit.admit(1, None).err(), Some(RpcError::TOO_MANY_REQUESTS), "undecided");
        reply.send(Ok(outcome())).expect("a waiter");
        assert_eq!(outcomes.recv().await, Some(outcome()));
        assert!(limit.admit(MAX_PENDING_BYTES, None).is_ok(), "decided");
    }

    #[tokio::test]
    async fn outcome_that_was_received_is_not_abandoned() {
        let (limit, (reply, receiver)) = (ProposalLimit::for_clients(), oneshot::channel());
        let on_abandoned: AbandonmentHandler =
            Box::new(|outcome| panic!("{outcome:?} was received"));
        let mut proposal = limit.admit(MAX_PENDING_BYTES, Some(on_abandoned)).expect("room");
        reply.send(Ok(outcome())).expect("a waiter");
        let waited = proposal.wait_for_outcome(receiver, Instant::now() + UNDECIDED_TIMEOUT).await;
        assert_eq!(waited, Ok(Ok(outcome())));
        drop(proposal);
        assert!(limit.admit(MAX_PENDING_BYTES, None).is_ok());
    }
}
