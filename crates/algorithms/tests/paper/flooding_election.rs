//! FloodMax with numbered rounds: N. A. Lynch, *Distributed Algorithms*, 1996.

use tenure_algorithms::Variants;
use tenure_algorithms::election::FloodingElection;
use tenure_algorithms::election::flooding_election::{Config, VariantId};
use tenure_core::service::election::Command;
use tenure_core::{ChannelOrder, Graph, ProcessId};
use tenure_trace::{SplitMix64, TestCluster};

use crate::support::election::{all_processes, beliefs, elect, subsets, unchecked_beliefs};
use crate::support::graphs::connected_graphs;
use crate::support::p;

/// Returns 2E·D, the number of messages of an election in a graph with E edges and diameter D. D is
/// computed from the distances of all pairs.
fn cost(graph: &Graph) -> u64 {
    let all = || (0..graph.vertex_count()).map(ProcessId);
    let pairs = all().flat_map(|one| all().map(move |other| (one, other)));
    let longest = pairs.filter_map(|(one, other)| graph.hop_distance(one, other)).max().unwrap();
    2 * graph.edge_count() as u64 * u64::from(longest)
}

#[test]
fn cost_is_constant_on_every_small_graph() {
    for size in 1..=5 {
        for (seed, graph) in (0..).zip(connected_graphs(size)) {
            let (config, cost) = (Config::with_graph(graph.clone()), cost(&graph));
            let sets = subsets(size).filter(|set| size < 5 || set.len() as u64 == 1 + seed % 5);
            for initiators in sets.take(15) {
                let order = ChannelOrder::Reordered;
                let (cluster, beliefs) =
                    elect::<FloodingElection>(size, order, config.clone(), &initiators, 0, seed);
                let context = format!("{graph:?} {initiators:?}");
                assert_eq!(beliefs, vec![Some(p(size)); size as usize], "{context}");
                assert_eq!(cluster.total_sent(), cost, "{context}");
            }
        }
    }
}

#[test]
fn duplicates_do_not_change_the_leader() {
    for (seed, graph) in (0..).zip(connected_graphs(4)) {
        let (config, all) = (Config::with_graph(graph), all_processes(4));
        let (_, beliefs) =
            elect::<FloodingElection>(4, ChannelOrder::Reordered, config.clone(), &all, 5, seed);
        assert_eq!(beliefs, [Some(p(4)); 4], "{config:?}");
    }
}

/// P4 starts a second election as soon as it knows the result of the first. The other processes may
/// still be in the first election.
#[test]
fn second_election_may_overlap_the_first() {
    for seed in 0..300 {
        let config = Config::with_graph(Graph::line(4));
        let mut cluster =
            TestCluster::<FloodingElection>::with_same_config(4, ChannelOrder::Reordered, config);
        cluster.issue_command(p(1), Command::Elect);
        let mut rng = SplitMix64(seed);
        let mut again = false;
        while let Some(link) = rng.pick(&cluster.links_in_use()).copied() {
            cluster.deliver(link, &mut rng);
            if !again && unchecked_beliefs(&mut cluster)[3].is_some() {
                again = true;
                cluster.issue_command(p(4), Command::Elect);
            }
        }
        assert!(again);
        assert!(beliefs(&mut cluster).iter().flatten().all(|leader| *leader == p(4)));
        cluster.issue_command(p(2), Command::Elect);
        cluster.deliver_all(&mut rng);
        assert_eq!(beliefs(&mut cluster), [Some(p(4)); 4], "seed {seed}");
    }
}

/// A rank travels one hop in each round. If each process ends one round too early, the ranks at the
/// two ends of a line do not reach the opposite end.
#[test]
fn rank_travels_one_hop_per_round() {
    for size in 3..=6 {
        let variants = Variants::none().with(VariantId::OneRoundLess);
        let config = Config { variants, ..Config::with_graph(Graph::line(size)) };
        let all = all_processes(size);
        let mut cluster =
            TestCluster::<FloodingElection>::with_same_config(size, ChannelOrder::Fifo, config);
        all.iter().for_each(|at| cluster.issue_command(*at, Command::Elect));
        cluster.run_until_quiescent();
        let mut expected = vec![Some(p(size)); size as usize];
        expected[0] = Some(p(size - 1));
        assert_eq!(unchecked_beliefs(&mut cluster), expected, "one end does not know the other");
    }
}

#[test]
fn each_mistake_is_caught() {
    let run = |switch, seed| {
        let config = Config {
            variants: Variants::none().with(switch),
            ..Config::with_graph(Graph::ring(4))
        };
        let mut cluster =
            TestCluster::<FloodingElection>::with_same_config(4, ChannelOrder::Reordered, config);
        cluster.issue_command(p(1), Command::Elect);
        cluster.deliver_all(&mut SplitMix64(seed));
        unchecked_beliefs(&mut cluster)
    };
    let wrong = |leader: &Option<ProcessId>| leader.is_some_and(|leader| leader != p(4));
    for switch in [VariantId::OneRoundLess, VariantId::NoWaiting] {
        assert!((0..200).any(|seed| run(switch, seed).iter().any(wrong)), "{switch:?}");
    }
    assert!((0..200).any(|seed| run(VariantId::OnlyNews, seed).contains(&None)));
}
