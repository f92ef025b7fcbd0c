//! Queue of a lock: the claim that holds the lock, the waiting claims, and the next fence.

use alloc::collections::VecDeque;

use tenure_core::ProcessId;

/// Identifier of a request, unique among the requests of a process. If `boot` counts the starts,
/// the identifier is unique across restarts too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RequestId {
    /// Number of starts of the process, including the current one. Always 0 in algorithms that do
    /// not count starts.
    pub boot: u64,
    /// Number of requests that the process has made since the start `boot`.
    pub number: u64,
}

/// Request for the lock: the process that requests it, and the identifier of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Claim {
    pub(crate) process: ProcessId,
    pub(crate) ticket: RequestId,
}

/// Grants one claim at a time, in the order of arrival.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct GrantQueue {
    holder: Option<Claim>,
    queue: VecDeque<Claim>,
    /// Number of grants so far. A fence consists of two numbers, and this number is the second.
    granted: u64,
}

impl GrantQueue {
    /// Queues a claim. A process has at most one claim, waiting or granted. A newer claim replaces
    /// the known claim of the process. An older or equal claim is a late duplicate and is ignored.
    pub(crate) fn enqueue(&mut self, claim: Claim) {
        let mut known = self.holder.iter().chain(&self.queue);
        if known.any(|other| other.process == claim.process && other.ticket >= claim.ticket) {
            return;
        }
        self.withdraw_claims_of(claim.process);
        self.queue.push_back(claim);
    }

    /// Grants the lock to the first waiting claim, if the lock is free. Returns the claim with the
    /// number of the grant, or `None` if nothing was granted.
    pub(crate) fn grant_next(&mut self) -> Option<(Claim, u64)> {
        if self.holder.is_some() {
            return None;
        }
        let claim = self.queue.pop_front()?;
        self.holder = Some(claim);
        self.granted += 1;
        Some((claim, self.granted))
    }

    /// Returns the claim that holds the lock for which `claim` waits, and the number of its grant.
    /// Returns `None` if `claim` does not wait, or if no claim holds the lock.
    pub(crate) fn holder_awaited_by(&self, claim: Claim) -> Option<(Claim, u64)> {
        let holder = self.holder.filter(|_| self.queue.contains(&claim))?;
        Some((holder, self.granted))
    }

    pub(crate) fn holder(&self) -> Option<Claim> {
        self.holder
    }

    /// Returns the number of the latest grant, or a higher number set by
    /// [`GrantQueue::raise_grant_count`].
    pub(crate) fn grant_count(&self) -> u64 {
        self.granted
    }

    /// Returns the waiting claims, in the order of arrival.
    pub(crate) fn waiting_claims(&self) -> &VecDeque<Claim> {
        &self.queue
    }

    /// Ensures that later grants have numbers above `min_count`.
    pub(crate) fn raise_grant_count(&mut self, min_count: u64) {
        self.granted = self.granted.max(min_count);
    }

    /// Withdraws a claim, granted or waiting. Unknown claims are ignored.
    pub(crate) fn withdraw(&mut self, claim: Claim) {
        if self.holder == Some(claim) {
            self.holder = None;
        }
        self.queue.retain(|other| *other != claim);
    }

    /// Withdraws all claims of a process, waiting and granted.
    pub(crate) fn withdraw_claims_of(&mut self, process: ProcessId) {
        self.holder = self.holder.filter(|claim| claim.process != process);
        self.queue.retain(|claim| claim.process != process);
    }

    /// Makes `claim` the holder of the lock, because the process has a grant that was made before
    /// this queue was created. Removes the waiting claims of the process.
    pub(crate) fn restore_holder(&mut self, claim: Claim) {
        self.queue.retain(|other| other.process != claim.process);
        self.holder = Some(claim);
    }
}
