//! Elections with random schedules, and their results.

use std::sync::Arc;

use tenure_core::monitors::Agreement;
use tenure_core::service::election::{Command, Event};
use tenure_core::{Election, Monitor, Order, ProcessId, Rank};

use tenure_trace::{ClusterEvent, SplitMix64, TestCluster};

/// The last leader reported at each process.
pub(crate) type Beliefs = Vec<Option<ProcessId>>;

/// Returns all processes of a group.
pub(crate) fn all_processes(size: u32) -> Vec<ProcessId> {
    (0..size).map(ProcessId).collect()
}

/// Starts an election at `initiators` before anything is delivered, then delivers in random order
/// until no message is in flight; `duplicates` messages arrive twice.
pub(crate) fn elect<P: Election>(
    size: u32,
    order: Order,
    config: P::Config,
    initiators: &[ProcessId],
    duplicates: u32,
    seed: u64,
) -> (TestCluster<P>, Beliefs) {
    let mut cluster = TestCluster::<P>::uniform(size, order, config);
    for at in initiators {
        cluster.command(*at, Command::Elect);
    }
    let mut rng = SplitMix64(seed);
    let mut left = duplicates;
    while let Some(link) = rng.pick(&cluster.links_in_use()) {
        if left > 0 && rng.one_in(3) {
            left -= 1;
            cluster.duplicate(*link);
        }
        cluster.deliver(*link, &mut rng);
    }
    let beliefs = beliefs(&mut cluster);
    (cluster, beliefs)
}

/// Returns the leader at each process since the last call, and checks agreement.
pub(crate) fn beliefs<P: Election>(cluster: &mut TestCluster<P>) -> Beliefs {
    let seen = cluster.take_events();
    let mut agreement = Agreement::new();
    for (at, seen) in &seen {
        agreement.observe(*at, seen.observed()).expect("agreement holds");
    }
    agreement.at_end().expect("agreement holds in the end");
    last_leaders(cluster.size(), seen)
}

/// Like [`beliefs`], without the check.
pub(crate) fn unchecked_beliefs<P: Election>(cluster: &mut TestCluster<P>) -> Beliefs {
    let seen = cluster.take_events();
    last_leaders(cluster.size(), seen)
}

fn last_leaders<P: Election>(size: u32, seen: Vec<(ProcessId, ClusterEvent<P>)>) -> Beliefs {
    let mut beliefs = vec![None; size as usize];
    for (at, seen) in seen {
        match seen {
            ClusterEvent::Event(Event::Elected { leader, .. }) => {
                beliefs[at.index()] = Some(leader)
            }
            ClusterEvent::Event(Event::Deposed { .. }) => beliefs[at.index()] = None,
            ClusterEvent::Command(_) | ClusterEvent::Crashed | ClusterEvent::Recovered => {}
        }
    }
    beliefs
}

/// Returns every non-empty subset of the processes.
pub(crate) fn subsets(size: u32) -> impl Iterator<Item = Vec<ProcessId>> {
    (1..1_u32 << size).map(move |chosen| {
        all_processes(size).into_iter().filter(|at| chosen & (1 << at.0) != 0).collect()
    })
}

/// Returns the process with an id on a ring.
pub(crate) fn process_with_id(id: u32, ids: &[u32]) -> Option<ProcessId> {
    ids.iter().position(|other| *other == id).map(ProcessId::at)
}

/// Returns these ids as ranks.
pub(crate) fn ranks(ids: &[u32]) -> Arc<[Rank]> {
    ids.iter().map(|id| Rank::of_id(*id)).collect()
}
