//! W. R. Franklin, *On an improved algorithm for decentralized extrema finding in circular
//! configurations of processors*, CACM 25(5), 1982.

use tenure_algorithms::election::Franklin;
use tenure_algorithms::election::franklin::{Config, Message};
use tenure_core::ChannelOrder;
use tenure_core::service::election::Command;

use crate::support::election::{
    all_processes, beliefs, check_constant_cost, check_with_duplicates, elect, process_with_id,
    ranks, shuffled,
};
use crate::support::{p, permutations};
use tenure_trace::{SplitMix64, TestCluster};

fn ring(ids: &[u32]) -> Config {
    Config::with_ranks(ranks(ids))
}

/// Starts all processes at the same time. Returns, for each phase, the number of hops of all bids.
fn by_phase(ids: &[u32], order: ChannelOrder, seed: u64) -> Vec<u64> {
    let size = ids.len() as u32;
    let mut cluster = TestCluster::<Franklin>::with_same_config(size, order, ring(ids));
    all_processes(size).into_iter().for_each(|at| cluster.issue_command(at, Command::Elect));
    let mut bids = vec![0; 8];
    let mut rng = SplitMix64(seed);
    while let Some(link) = rng.pick(&cluster.links_in_use()).copied() {
        if let Message::Bid { phase, .. } = cluster.messages_on_link(link)[0] {
            bids[*phase as usize - 1] += 1;
            cluster.deliver_at(link, 0);
        } else {
            cluster.deliver(link, &mut rng);
        }
    }
    assert_eq!(
        beliefs(&mut cluster),
        vec![process_with_id(size, ids); ids.len()],
        "{ids:?} seed {seed}"
    );
    assert_eq!(cluster.sent_count("elected"), u64::from(size), "the announcement");
    assert_eq!(cluster.sent_count("bid"), bids.iter().sum::<u64>());
    bids.retain(|count| *count > 0);
    bids
}

/// Each phase costs 2N messages, and there are at most ⌊log₂ N⌋ + 1 phases (`docs/checklist.md`,
/// section 2.13).
#[test]
fn phases_cost_two_laps_and_number_at_most_log_n() {
    for size in 2..=6_u32 {
        let mut seed = 0;
        permutations(size, |ids| {
            seed += 1;
            let bids = by_phase(ids, ChannelOrder::Fifo, seed);
            assert!(bids.iter().all(|count| *count == 2 * u64::from(size)), "{ids:?}: {bids:?}");
            assert!(bids.len() as u32 <= size.ilog2() + 1, "{ids:?}: {bids:?}");
        });
    }
}

#[test]
fn bound_is_tight_for_eight_processes() {
    let most = (0..2000).map(|seed| by_phase(&shuffled(8, seed), ChannelOrder::Fifo, seed).len());
    assert_eq!(most.max(), Some(4));
}

/// The cost is the same without FIFO channels. If a neighbour's bid arrives before the phase to
/// which it belongs, the process keeps the bid until this phase begins.
#[test]
fn cost_is_independent_of_schedule_and_initiators() {
    check_constant_cost::<Franklin>(ChannelOrder::Reordered, ring, |ids| {
        by_phase(ids, ChannelOrder::Fifo, 0).iter().sum::<u64>() + 5
    });
}

#[test]
fn single_process_leads_without_messages() {
    let (cluster, beliefs) = elect::<Franklin>(1, ChannelOrder::Fifo, ring(&[7]), &[p(1)], 0, 0);
    assert_eq!((cluster.total_sent(), beliefs), (0, vec![Some(p(1))]));
    for seed in 0..100 {
        let (mut cluster, _) =
            elect::<Franklin>(3, ChannelOrder::Reordered, ring(&[2, 3, 1]), &[p(1)], 0, seed);
        let first = cluster.total_sent();
        cluster.issue_command(p(3), Command::Elect);
        cluster.deliver_all(&mut SplitMix64(seed));
        assert_eq!(cluster.total_sent(), 2 * first, "seed {seed}");
        assert_eq!(super::support::election::beliefs(&mut cluster), [Some(p(2)); 3]);
    }
}

#[test]
fn duplicates_do_not_change_the_leader() {
    check_with_duplicates::<Franklin>((5, 4), ChannelOrder::Reordered, ring);
}
