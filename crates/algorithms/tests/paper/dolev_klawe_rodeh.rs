//! D. Dolev, M. Klawe, M. Rodeh, *An O(n log n) unidirectional distributed algorithm for extrema
//! finding in a circle*, Journal of Algorithms 3(3), 1982.

use tenure_algorithms::election::DolevKlaweRodeh;
use tenure_algorithms::election::dolev_klawe_rodeh::{Config, Message};
use tenure_core::service::election::Command;
use tenure_core::{ChannelOrder, ProcessId};

use crate::support::election::{
    all_processes, beliefs, check_constant_cost, check_with_duplicates, elect, process_with_id,
    ranks, shuffled,
};
use crate::support::{command_and_drain, p, permutations};
use tenure_trace::{SplitMix64, TestCluster};

fn ring(ids: &[u32]) -> Config {
    Config::with_ranks(ranks(ids))
}

/// Starts all processes at the same time. Returns the number of phases, the number of messages
/// without the announcement, and the process that announces.
fn run(ids: &[u32], seed: u64) -> (u32, u64, ProcessId) {
    let size = ids.len() as u32;
    let mut cluster =
        TestCluster::<DolevKlaweRodeh>::with_same_config(size, ChannelOrder::Fifo, ring(ids));
    all_processes(size).into_iter().for_each(|at| cluster.issue_command(at, Command::Elect));
    let (mut phases, mut detector) = (0, None);
    let mut rng = SplitMix64(seed);
    while let Some(link) = rng.pick(&cluster.links_in_use()).copied() {
        match cluster.messages_on_link(link)[0] {
            Message::First { phase, .. } | Message::Second { phase, .. } => {
                phases = phases.max(*phase);
            }
            Message::Elected { .. } => drop(detector.get_or_insert(link.0)),
        }
        cluster.deliver(link, &mut rng);
    }
    assert_eq!(
        beliefs(&mut cluster),
        vec![process_with_id(size, ids); ids.len()],
        "{ids:?} seed {seed}"
    );
    assert_eq!(cluster.sent_count("elected"), u64::from(size), "the announcement");
    (phases, cluster.total_sent() - u64::from(size), detector.expect("an announcement was sent"))
}

/// Each phase except the last costs 2N messages, and the last phase costs N messages. There are at
/// most ⌊log₂ N⌋ + 1 phases (`docs/checklist.md`, section 2.13).
#[test]
fn costs_two_laps_per_phase_and_one_last() {
    for size in 2..=6_u32 {
        let mut seed = 0;
        permutations(size, |ids| {
            seed += 1;
            let (phases, messages, _) = run(ids, seed);
            let n = u64::from(size);
            assert_eq!(messages, n * (2 * (u64::from(phases) - 1) + 1), "{ids:?}");
            assert!(phases <= size.ilog2() + 1, "{ids:?}: {phases} phases");
        });
    }
}

/// An election of eight processes can need four phases, which is the upper bound ⌊log₂ N⌋ + 1.
#[test]
fn bound_is_tight_for_eight_processes() {
    let most = (0..2000).map(|seed| run(&shuffled(8, seed), seed).0);
    assert_eq!(most.max(), Some(4));
}

/// The process that announces the leader is not the owner of the largest rank (`docs/checklist.md`,
/// section 2.13).
#[test]
fn announcer_is_not_the_owner_of_the_rank() {
    for size in 2..=6_u32 {
        permutations(size, |ids| {
            let (.., detector) = run(ids, 1);
            assert_ne!(Some(detector), process_with_id(size, ids), "{ids:?}");
        });
    }
}

#[test]
fn local_maxima_survive_a_phase() {
    for seed in 0..200 {
        let ids = shuffled(9, seed);
        let highest = |at: usize| ids[at] > ids[(at + 1) % 9] && ids[at] > ids[(at + 8) % 9];
        let maxima = (0..9).filter(|at| highest(*at)).count();
        let mut cluster =
            TestCluster::<DolevKlaweRodeh>::with_same_config(9, ChannelOrder::Fifo, ring(&ids));
        all_processes(9).into_iter().for_each(|at| cluster.issue_command(at, Command::Elect));
        let mut survivors = std::collections::BTreeSet::new();
        while let Some(link) = cluster.links_in_use().first().copied() {
            if let Message::First { phase: 2, candidate, .. } = cluster.messages_on_link(link)[0] {
                survivors.insert(candidate.process);
            }
            cluster.deliver(link, &mut SplitMix64(0));
        }
        assert_eq!(survivors.len(), maxima, "{ids:?}");
        assert!(survivors.iter().all(|at| highest(at.index())), "{ids:?}: {survivors:?}");
    }
}

/// The number of messages depends neither on the schedule nor on the initiators. Every process
/// takes part as soon as it learns of the election.
#[test]
fn cost_is_independent_of_schedule_and_initiators() {
    check_constant_cost::<DolevKlaweRodeh>(ChannelOrder::Fifo, ring, |ids| run(ids, 0).1 + 5);
}

#[test]
fn single_process_leads_without_messages() {
    let (cluster, beliefs) =
        elect::<DolevKlaweRodeh>(1, ChannelOrder::Fifo, ring(&[7]), &[p(1)], 0, 0);
    assert_eq!((cluster.total_sent(), beliefs), (0, vec![Some(p(1))]));
    let (mut cluster, _) =
        elect::<DolevKlaweRodeh>(3, ChannelOrder::Fifo, ring(&[2, 3, 1]), &[p(1)], 0, 0);
    let first = cluster.total_sent();
    command_and_drain(&mut cluster, 3, Command::Elect);
    assert_eq!(cluster.total_sent(), 2 * first);
    assert_eq!(super::support::election::beliefs(&mut cluster), [Some(p(2)); 3]);
}

#[test]
fn duplicates_do_not_change_the_leader() {
    check_with_duplicates::<DolevKlaweRodeh>((5, 4), ChannelOrder::Fifo, ring);
}
