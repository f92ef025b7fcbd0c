//! Elections with random schedules, and the leaders that processes report.

use std::sync::Arc;

use tenure_core::monitors::LeaderAgreement;
use tenure_core::service::election::{Command, Event};
use tenure_core::{ChannelOrder, Election, Monitor, ProcessId, Protocol, Rank};

use tenure_trace::{ProcessEvent, SplitMix64, TestCluster};

/// Leader that each process reported last, indexed by process. `None` for a process that has
/// reported no leader.
pub(crate) type Beliefs = Vec<Option<ProcessId>>;

pub(crate) fn all_processes(size: u32) -> Vec<ProcessId> {
    (0..size).map(ProcessId).collect()
}

/// Starts an election at each of `initiators`, and then delivers messages in random order until
/// none is in flight. `duplicates` is the number of messages that arrive twice.
pub(crate) fn elect<P: Election>(
    size: u32,
    order: ChannelOrder,
    config: P::Config,
    initiators: &[ProcessId],
    duplicates: u32,
    seed: u64,
) -> (TestCluster<P>, Beliefs) {
    let mut cluster = TestCluster::<P>::with_same_config(size, order, config);
    for at in initiators {
        cluster.issue_command(*at, Command::Elect);
    }
    drain_with_duplicates(&mut cluster, duplicates, seed);
    let beliefs = beliefs(&mut cluster);
    (cluster, beliefs)
}

/// Delivers messages in random order until none is in flight. `duplicates` is the number of
/// messages that arrive twice.
pub(crate) fn drain_with_duplicates<P: Protocol>(
    cluster: &mut TestCluster<P>,
    mut duplicates: u32,
    seed: u64,
) {
    let mut rng = SplitMix64(seed);
    while let Some(link) = rng.pick(&cluster.links_in_use()) {
        if duplicates > 0 && rng.one_in(3) {
            duplicates -= 1;
            cluster.duplicate_oldest(*link);
        }
        cluster.deliver(*link, &mut rng);
    }
}

/// Returns the leader that each process has reported since the last call, and asserts that all
/// agree.
pub(crate) fn beliefs<P: Election>(cluster: &mut TestCluster<P>) -> Beliefs {
    let seen = cluster.take_events();
    let mut agreement = LeaderAgreement::new();
    for (at, seen) in &seen {
        agreement.observe(*at, seen.to_observation()).expect("agreement holds");
    }
    agreement.check_final_state().expect("agreement holds in the end");
    last_leaders(cluster.size(), seen)
}

/// Returns the leader that each process has reported since the last call. In contrast to
/// [`beliefs`], does not assert that the processes agree.
pub(crate) fn unchecked_beliefs<P: Election>(cluster: &mut TestCluster<P>) -> Beliefs {
    let seen = cluster.take_events();
    last_leaders(cluster.size(), seen)
}

fn last_leaders<P: Election>(size: u32, seen: Vec<(ProcessId, ProcessEvent<P>)>) -> Beliefs {
    let mut beliefs = vec![None; size as usize];
    for (at, seen) in seen {
        match seen {
            ProcessEvent::Event(Event::Elected { leader, .. }) => {
                beliefs[at.index()] = Some(leader)
            }
            ProcessEvent::Event(Event::Deposed { .. }) => beliefs[at.index()] = None,
            ProcessEvent::Command(_) | ProcessEvent::Crashed | ProcessEvent::Recovered => {}
        }
    }
    beliefs
}

pub(crate) fn shuffled(size: u32, seed: u64) -> Vec<u32> {
    let mut ids: Vec<u32> = (1..=size).collect();
    SplitMix64(seed).shuffle(&mut ids);
    ids
}

/// Checks with 1000 seeds that duplicates do not change the leader. All processes of a ring start
/// in random order, and the process with the largest id must lead.
#[track_caller]
pub(crate) fn check_with_duplicates<P: Election>(
    (size, duplicates): (u32, u32),
    order: ChannelOrder,
    ring: impl Fn(&[u32]) -> P::Config,
) {
    for seed in 0..1000 {
        let ids = shuffled(size, seed);
        let initiators = all_processes(size);
        let (_, beliefs) = elect::<P>(size, order, ring(&ids), &initiators, duplicates, seed);
        assert_eq!(beliefs, vec![process_with_id(size, &ids); ids.len()], "seed {seed}");
    }
}

/// Checks that the number of messages on a ring of five depends neither on the initiators nor on
/// the schedule.
#[track_caller]
pub(crate) fn check_constant_cost<P: Election>(
    order: ChannelOrder,
    ring: impl Fn(&[u32]) -> P::Config,
    cost: impl Fn(&[u32]) -> u64,
) {
    let ids = [3, 1, 5, 2, 4];
    let cost = cost(&ids);
    for initiators in subsets(5) {
        for seed in 0..40 {
            let (cluster, beliefs) = elect::<P>(5, order, ring(&ids), &initiators, 0, seed);
            assert_eq!(beliefs, vec![process_with_id(5, &ids); 5], "{initiators:?}, seed {seed}");
            assert_eq!(cluster.total_sent(), cost, "{initiators:?}, seed {seed}");
        }
    }
}

/// Returns every non-empty subset of the processes.
pub(crate) fn subsets(size: u32) -> impl Iterator<Item = Vec<ProcessId>> {
    (1..1_u32 << size).map(move |chosen| {
        all_processes(size).into_iter().filter(|at| chosen & (1 << at.0) != 0).collect()
    })
}

pub(crate) fn process_with_id(id: u32, ids: &[u32]) -> Option<ProcessId> {
    ids.iter().position(|other| *other == id).map(ProcessId::from_index)
}

pub(crate) fn ranks(ids: &[u32]) -> Arc<[Rank]> {
    ids.iter().map(|id| Rank::from_id(*id)).collect()
}
