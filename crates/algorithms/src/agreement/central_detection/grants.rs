//! Resources that one process manages: the granted request and the waiting requests of each
//! resource.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use tenure_core::ProcessId;
use tenure_core::service::resources::Resource;

use super::message::{ResourceRequestId, ResourceStatus};

/// Resources that one process manages. For each granted resource, this type contains the request
/// that holds the resource and the requests that wait for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ManagedResources {
    /// Queues of the granted resources. A free resource has no entry.
    queues: BTreeMap<Resource, Queue>,
    /// For each process: the highest number among its requests that have arrived or ended.
    last: BTreeMap<ProcessId, u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Queue {
    holder: ResourceRequestId,
    waiting: VecDeque<ResourceRequestId>,
}

impl ManagedResources {
    /// Grants the resource to `claim` if the resource is free. Otherwise queues `claim`. Returns
    /// the request to which this call grants the resource, or `None` if it grants nothing.
    ///
    /// Ignores `claim` if a request of the same process with an equal or higher number has already
    /// arrived or ended. A new request ends an older request of the same process for the resource.
    /// If the release of the older request arrives later, it has no effect.
    pub(super) fn grant_or_queue(
        &mut self,
        resource: Resource,
        claim: ResourceRequestId,
    ) -> Option<ResourceRequestId> {
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

    /// Records the number of a request. Returns true if the number is higher than the numbers of
    /// all earlier requests of the same process.
    fn record(&mut self, claim: ResourceRequestId) -> bool {
        let last = self.last.entry(claim.process).or_default();
        let is_newer = *last < claim.number;
        *last = claim.number.max(*last);
        is_newer
    }

    /// Ends a request for a resource. If another request waits for the resource, grants the
    /// resource to the waiting request, and returns that request. Returns `None` if it grants
    /// nothing.
    pub(super) fn release_and_grant_next(
        &mut self,
        resource: Resource,
        claim: ResourceRequestId,
    ) -> Option<ResourceRequestId> {
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

    /// Returns the request that holds the resource, if it is a request of the same process as
    /// `claim`. Otherwise returns `None`.
    pub(super) fn held_claim_of_process(
        &self,
        resource: Resource,
        claim: ResourceRequestId,
    ) -> Option<ResourceRequestId> {
        let holder = self.queues.get(&resource)?.holder;
        (holder.process == claim.process).then_some(holder)
    }

    /// Returns the requests that wait for a resource, in the order of arrival.
    pub(super) fn waiting_claims(
        &self,
        resource: Resource,
    ) -> impl Iterator<Item = ResourceRequestId> + '_ {
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
