//! Resources that one process manages: the granted request and the waiting requests of each
//! resource.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use tenure_core::ProcessId;
use tenure_core::service::resources::Resource;

use super::message::{Claim, ResourceStatus};

/// Resources that one process manages. For each granted resource, this type contains the claim that
/// holds the resource and the claims that wait for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ManagedResources {
    /// Queues of the granted resources. A free resource has no entry.
    queues: BTreeMap<Resource, Queue>,
    /// For each process: the highest number among its claims that have arrived or ended.
    last: BTreeMap<ProcessId, u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Queue {
    holder: Claim,
    waiting: VecDeque<Claim>,
}

impl ManagedResources {
    /// Grants the resource to `claim` if the resource is free. Otherwise queues `claim`. Returns
    /// the claim to which this call grants the resource, or `None` if it grants nothing.
    ///
    /// Ignores `claim` if a claim of the same process with an equal or higher number has already
    /// arrived or ended. A new claim ends an older claim of the same process to the resource. If
    /// the release of the older claim arrives later, it has no effect.
    pub(super) fn grant_or_queue(&mut self, resource: Resource, claim: Claim) -> Option<Claim> {
        if !self.record(claim) {
            return None;
        }
        let Some(queue) = self.queues.get_mut(&resource) else {
            self.queues.insert(resource, Queue { holder: claim, waiting: VecDeque::new() });
            return Some(claim);
        };
        queue.waiting.retain(|other| other.process != claim.process);
        queue.waiting.push_back(claim);
        let holder = queue.holder;
        if holder.process == claim.process {
            self.release_and_grant_next(resource, holder)
        } else {
            None
        }
    }

    /// Records the number of a claim. Returns true if the number is higher than the numbers of all
    /// earlier claims of the same process.
    fn record(&mut self, claim: Claim) -> bool {
        let last = self.last.entry(claim.process).or_default();
        let is_newer = *last < claim.number;
        *last = claim.number.max(*last);
        is_newer
    }

    /// Ends a claim to a resource. If another claim waits for the resource, grants the resource to
    /// the waiting claim, and returns that claim. Returns `None` if it grants nothing.
    pub(super) fn release_and_grant_next(
        &mut self,
        resource: Resource,
        claim: Claim,
    ) -> Option<Claim> {
        self.record(claim);
        let queue = self.queues.get_mut(&resource)?;
        queue.waiting.retain(|other| *other != claim);
        if queue.holder != claim {
            return None;
        }
        let next = queue.waiting.pop_front();
        match next {
            Some(next) => queue.holder = next,
            None => {
                self.queues.remove(&resource);
            }
        }
        next
    }

    /// Returns the claim that holds the resource, if it is a claim of the same process as `claim`.
    /// Otherwise returns `None`.
    pub(super) fn held_claim_of_process(&self, resource: Resource, claim: Claim) -> Option<Claim> {
        let holder = self.queues.get(&resource)?.holder;
        (holder.process == claim.process).then_some(holder)
    }

    /// Returns the claims that wait for a resource, in the order of arrival.
    pub(super) fn waiting_claims(&self, resource: Resource) -> impl Iterator<Item = Claim> + '_ {
        self.queues.get(&resource).into_iter().flat_map(|queue| queue.waiting.iter().copied())
    }

    pub(super) fn resource_statuses(&self) -> Vec<ResourceStatus> {
        let status = |(resource, queue): (&Resource, &Queue)| ResourceStatus {
            resource: *resource,
            holder: queue.holder,
            waiting: queue.waiting.iter().copied().collect(),
        };
        self.queues.iter().map(status).collect()
    }
}
