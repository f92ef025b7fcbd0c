//! State of the leader that grants the lock [`CoordinatedLock`](super::CoordinatedLock), and the
//! reports of other processes to this leader.

use alloc::collections::BTreeMap;

use tenure_core::{Fence, ProcessId, ProcessSet, Term};

use crate::mutex::{Claim, GrantQueue, RequestId};

/// State of the leader as the coordinator of the lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Coordinator {
    /// Processes that have not yet reported the state of their requests to this coordinator. While
    /// this set is not empty, the coordinator grants nothing.
    pub(super) awaited: ProcessSet,
    pub(super) grants: GrantQueue,
    /// Fencing token of the current grant. If no process holds the lock, the token of the last
    /// known grant. `None` if no grant is known.
    latest: Option<Fence>,
    /// Suspected processes that may be inside the critical section. When all of them have had
    /// enough time to leave the critical section, the coordinator drops their claims.
    pub(super) possibly_inside: ProcessSet,
    /// For each process, the number of its latest known renewal request. Contains no number 0.
    /// Empty if entries to the critical section do not expire, because all numbers are then 0.
    rounds: BTreeMap<ProcessId, u64>,
}

/// State of the request of a process. The process reports this state to a new leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum RequestStatus {
    /// The process neither waits for the critical section nor is inside it.
    Idle,
    /// The process waits for the critical section with this request.
    Waiting {
        /// Identifier of the request.
        ticket: RequestId,
    },
    /// The process has entered the critical section with this request, and is still inside.
    Inside {
        /// Identifier of the request.
        ticket: RequestId,
        /// Fence of the grant.
        fence: Fence,
    },
}

impl Coordinator {
    /// Returns the state of a new coordinator. The coordinator grants nothing until the processes
    /// in `awaited` have reported.
    pub(super) fn awaiting(awaited: ProcessSet) -> Self {
        Coordinator {
            awaited,
            grants: GrantQueue::default(),
            latest: None,
            possibly_inside: ProcessSet::new(),
            rounds: BTreeMap::new(),
        }
    }

    /// Records the status that `from` reports in response to an inquiry. `round` is the number of
    /// the renewal request of `from`. The status is up to date, because channels are FIFO: `from`
    /// had received all earlier grants of this coordinator when it received the inquiry.
    pub(super) fn record_status(&mut self, from: ProcessId, status: RequestStatus, round: u64) {
        self.awaited.remove(from);
        self.record_round(from, round);
        let claim = |ticket| Claim { process: from, ticket };
        match status {
            RequestStatus::Idle => self.grants.withdraw_claims_of(from),
            RequestStatus::Waiting { ticket } => self.grants.enqueue(claim(ticket)),
            RequestStatus::Inside { ticket, fence } => {
                // If the coordinator granted the lock again while it suspected this process, the
                // new grant has a higher fence. The process then does not become the holder again.
                if self.latest.is_none_or(|latest| fence >= latest) {
                    self.latest = Some(fence);
                    self.grants.restore_holder(claim(ticket));
                }
            }
        }
    }

    /// Records the request `claim`, which the process may have sent before. `round` is the number
    /// of this renewal request.
    pub(super) fn record_request(&mut self, claim: Claim, round: u64) {
        self.record_round(claim.process, round);
        self.grants.enqueue(claim);
    }

    fn record_round(&mut self, from: ProcessId, round: u64) {
        // All requests have the number 0 if entries do not expire.
        if round > 0 {
            self.rounds.insert(from, round);
        }
    }

    /// Returns the number of the latest known renewal request of `process`, or 0 if no number is
    /// known.
    pub(super) fn latest_request_number_of(&self, process: ProcessId) -> u64 {
        self.rounds.get(&process).copied().unwrap_or(0)
    }

    /// Returns the fencing token of `claim`, or `None` if `claim` does not hold the lock.
    pub(super) fn fence_of(&self, claim: Claim) -> Option<Fence> {
        self.latest.filter(|_| self.grants.holder() == Some(claim))
    }

    /// Returns true if `process` may be inside the critical section, because it holds the lock or
    /// has not reported yet.
    pub(super) fn may_be_inside(&self, process: ProcessId) -> bool {
        let holds = self.grants.holder().is_some_and(|claim| claim.process == process);
        holds || self.awaited.contains(process)
    }

    /// Drops the claims of the processes in `possibly_inside`, stops waiting for their reports, and
    /// empties the set. The caller must have given each of these processes enough time to leave the
    /// critical section.
    pub(super) fn drop_possibly_inside_claims(&mut self) {
        for peer in &core::mem::take(&mut self.possibly_inside) {
            self.forget_peer(peer);
        }
    }

    /// Drops the claim of a peer, and stops waiting for its report.
    pub(super) fn forget_peer(&mut self, peer: ProcessId) {
        self.awaited.remove(peer);
        self.grants.withdraw_claims_of(peer);
    }

    /// Grants the lock to the first waiting claim, and returns the claim with its fencing token.
    /// Returns `None` if no claim waits, if a claim holds the lock, or if an awaited process has
    /// not reported yet.
    pub(super) fn grant_next(&mut self, term: Term) -> Option<(Claim, Fence)> {
        if !self.awaited.is_empty() {
            return None;
        }
        let (claim, count) = self.grants.grant_next()?;
        let fence = Fence(term.packed(), count);
        self.latest = Some(fence);
        Some((claim, fence))
    }
}
