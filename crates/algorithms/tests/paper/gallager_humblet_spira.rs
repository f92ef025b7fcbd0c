//! R. G. Gallager, P. A. Humblet, P. M. Spira, *A distributed algorithm for minimum-weight spanning
//! trees*, ACM TOPLAS 5(1), 1983.

use std::collections::BTreeSet;
use std::sync::Arc;

use tenure_algorithms::Variants;
use tenure_algorithms::election::GallagerHumbletSpira;
use tenure_algorithms::election::gallager_humblet_spira::{Config, VariantId};
use tenure_core::service::election::Command;
use tenure_core::{Algorithm, ChannelOrder, Graph, ProcessId, Property};

use crate::support::election::{
    Beliefs, all_processes, beliefs, elect, subsets, unchecked_beliefs,
};
use crate::support::graphs::connected_graphs;
use crate::support::{p, pass_all};
use tenure_trace::{SplitMix64, TestCluster};

type Cluster = TestCluster<GallagerHumbletSpira>;

fn on(graph: &Graph) -> Config {
    Config { graph: Arc::new(graph.clone()), variants: Variants::none() }
}

fn with(graph: &Graph, variant: VariantId) -> Config {
    Config { variants: Variants::none().with(variant), ..on(graph) }
}

/// Creates a graph from edges `(end, other end, weight)`, in which process numbers start at 1.
fn graph(size: u32, edges: &[(u32, u32, u64)]) -> Graph {
    Graph::new(size, edges.iter().map(|(one, other, weight)| (p(*one), p(*other), *weight)))
        .expect("the edges are distinct")
}

/// Returns the minimum spanning tree by Kruskal's algorithm. Edges of equal weight are ordered by
/// the ids of their ends.
fn kruskal(graph: &Graph) -> BTreeSet<(ProcessId, ProcessId)> {
    let mut edges: Vec<_> = graph.edges().map(|(one, other, it)| (it, one, other)).collect();
    edges.sort_unstable();
    let mut fragments: Vec<usize> = (0..graph.vertex_count() as usize).collect();
    let mut tree = BTreeSet::new();
    for (_, one, other) in edges {
        let (kept, merged) = (fragments[one.index()], fragments[other.index()]);
        if kept != merged {
            fragments.iter_mut().filter(|it| **it == merged).for_each(|it| *it = kept);
            tree.insert((one, other));
        }
    }
    tree
}

/// Returns the edges that belong to the tree. Asserts that both ends of each of these edges know
/// that the edge belongs to the tree.
fn tree(cluster: &Cluster) -> BTreeSet<(ProcessId, ProcessId)> {
    let branches = |at: ProcessId| {
        let process = cluster.process(at).expect("no process crashes");
        process.branch_neighbours().map(move |peer| (at, peer)).collect::<Vec<_>>()
    };
    let arcs: BTreeSet<_> = cluster.process_ids().into_iter().flat_map(branches).collect();
    assert!(arcs.iter().all(|(one, other)| arcs.contains(&(*other, *one))), "{arcs:?}");
    arcs.into_iter().filter(|(one, other)| one < other).collect()
}

/// Returns the number of messages that built the tree, without the announcement of the leader.
fn tree_messages(cluster: &Cluster) -> u64 {
    cluster.total_sent() - cluster.sent_count("elected")
}

/// Asserts everything that the algorithm promises at the end of a run.
fn assert_complete(graph: &Graph, cluster: &Cluster, beliefs: &Beliefs, context: &str) {
    let (edges, n) = (graph.edge_count() as u64, u64::from(graph.vertex_count()));
    assert_eq!(tree(cluster), kruskal(graph), "{context}");
    let leader = beliefs[0].expect("a leader is known");
    assert!(beliefs.iter().all(|it| *it == Some(leader)), "{context}: {beliefs:?}");
    let sent = tree_messages(cluster);
    // The bound of the paper.
    let most = 2.0 * edges as f64 + 5.0 * n as f64 * (n as f64).log2();
    assert!(sent as f64 <= most, "{context}: {sent}");
    let card = GallagerHumbletSpira::card(&on(graph), graph.vertex_count()).messages;
    let total = cluster.total_sent();
    assert!((card.least..=card.most.unwrap()).contains(&total), "{context}: {total}, {card:?}");
    assert_eq!(cluster.sent_count("elected"), n.saturating_sub(2), "{context}");
    for at in cluster.process_ids() {
        let process = cluster.process(at).expect("no process crashes");
        assert!(!process.has_postponed_messages(), "{context}: {process:?}");
        assert!(process.fragment_level() <= graph.vertex_count().ilog2(), "{context}: {process:?}");
    }
}

/// Confirms the claims of the paper for all connected graphs of up to five processes, each with
/// random weights, initiators and schedules.
#[test]
fn all_small_graphs_get_their_minimum_tree() {
    for size in 1..=5 {
        for (number, graph) in connected_graphs(size).enumerate() {
            let (graph, seed) = (graph.with_distinct_weights(7), number as u64);
            let initiators = subsets(size).nth(number % ((1 << size) - 1)).unwrap();
            let (cluster, beliefs) = elect::<GallagerHumbletSpira>(
                size,
                ChannelOrder::Fifo,
                on(&graph),
                &initiators,
                0,
                seed,
            );
            assert_complete(&graph, &cluster, &beliefs, &format!("seed {seed}: {graph:?}"));
        }
    }
}

#[test]
fn larger_random_graphs_get_their_minimum_tree() {
    for seed in 0..60 {
        let size = 6 + seed as u32 % 20;
        let graph = Graph::random_connected(size, 200_000, seed).with_distinct_weights(seed);
        let initiators = [p(1 + seed as u32 % size), p(size)];
        let (cluster, beliefs) = elect::<GallagerHumbletSpira>(
            size,
            ChannelOrder::Fifo,
            on(&graph),
            &initiators,
            0,
            seed,
        );
        assert_complete(&graph, &cluster, &beliefs, &format!("seed {seed}: {graph:?}"));
    }
}

#[test]
fn equal_weights_are_told_apart_by_identities() {
    for seed in 0..60 {
        let graph = Graph::random_connected(7, 500_000, seed);
        assert!(graph.has_unit_weights());
        let (cluster, beliefs) = elect::<GallagerHumbletSpira>(
            7,
            ChannelOrder::Fifo,
            on(&graph),
            &all_processes(7),
            0,
            seed,
        );
        assert_complete(&graph, &cluster, &beliefs, &format!("seed {seed}: {graph:?}"));
    }
}

/// The leader is the larger end of the last core. The last core is the edge over which the last two
/// fragments merged.
#[test]
fn larger_end_of_the_last_core_leads() {
    // {P1, P2} and {P3, P4} merge over the edge P2 – P3.
    let line = graph(4, &[(1, 2, 1), (2, 3, 3), (3, 4, 2)]);
    for seed in 0..200 {
        let (cluster, beliefs) = elect::<GallagerHumbletSpira>(
            4,
            ChannelOrder::Fifo,
            on(&line),
            &all_processes(4),
            0,
            seed,
        );
        assert_eq!(beliefs, [Some(p(3)); 4], "seed {seed}");
        assert_eq!(cluster.process(p(1)).map(GallagerHumbletSpira::fragment_level), Some(2));
    }
}

/// P3 has level 0 and joins the fragment of P1 and P2 while this fragment still searches for its
/// lightest outgoing edge. P3 is absorbed at once, and the search continues.
#[test]
fn fragment_of_lower_level_is_absorbed() {
    let line = graph(3, &[(1, 2, 1), (2, 3, 2)]);
    let mut cluster = Cluster::with_same_config(3, ChannelOrder::Fifo, on(&line));
    cluster.issue_command(p(1), Command::Elect);
    pass_all(&mut cluster, &[(1, 2), (2, 1), (1, 2)]);
    assert_eq!(cluster.process(p(2)).map(GallagerHumbletSpira::fragment_level), Some(1));
    // P2 tests the edge to P3. The test message wakes P3, and P3 asks to connect and postpones the
    // answer to the test.
    cluster.deliver_at((p(2), p(3)), 0);
    assert!(cluster.process(p(3)).is_some_and(GallagerHumbletSpira::has_postponed_messages));
    pass_all(&mut cluster, &[(3, 2), (2, 3)]);
    assert_eq!(cluster.process(p(3)).map(GallagerHumbletSpira::fragment_level), Some(1));
    assert!(!cluster.process(p(3)).is_some_and(GallagerHumbletSpira::has_postponed_messages));
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(beliefs(&mut cluster), [Some(p(2)); 3]);
    assert_eq!(tree(&cluster), kruskal(&line));
}

/// P3 asks P2 to merge their fragments. Both fragments have the same level, but P2's fragment has
/// chosen another edge. P2 postpones the message until the level of its own fragment is higher.
#[test]
fn fragment_of_same_level_waits_for_the_same_edge() {
    let line = graph(3, &[(1, 2, 1), (2, 3, 2)]);
    let mut cluster = Cluster::with_same_config(3, ChannelOrder::Fifo, on(&line));
    cluster.issue_command(p(3), Command::Elect);
    cluster.deliver_at((p(3), p(2)), 0);
    let second = cluster.process(p(2)).expect("no process crashes");
    assert!(second.has_postponed_messages() && second.fragment_level() == 0);
    assert_eq!(second.branch_neighbours().collect::<Vec<_>>(), [p(1)]);
    cluster.deliver_all(&mut SplitMix64(0));
    assert_eq!(beliefs(&mut cluster), [Some(p(2)); 3]);
}

#[test]
fn single_process_leads_and_repeated_request_is_free() {
    let (cluster, beliefs_of_one) =
        elect::<GallagerHumbletSpira>(1, ChannelOrder::Fifo, on(&Graph::line(1)), &[p(1)], 0, 0);
    assert_eq!((cluster.total_sent(), beliefs_of_one), (0, vec![Some(p(1))]));
    let triangle = graph(3, &[(1, 2, 3), (2, 3, 1), (1, 3, 2)]);
    let (mut cluster, beliefs_of_three) =
        elect::<GallagerHumbletSpira>(3, ChannelOrder::Fifo, on(&triangle), &[p(1)], 0, 0);
    let (sent, leader) = (cluster.total_sent(), beliefs_of_three[0]);
    cluster.issue_command(p(1), Command::Elect);
    assert_eq!(cluster.total_sent(), sent);
    assert_eq!(beliefs(&mut cluster), [leader, None, None]);
}

/// Returns true if a run with some seed fails. A run fails if the tree is wrong, or if the
/// processes do not all know the same leader.
fn is_caught(config: &Config, order: ChannelOrder) -> bool {
    let size = config.graph.vertex_count();
    (0..400).any(|seed| {
        let mut cluster = Cluster::with_same_config(size, order, config.clone());
        let mut rng = SplitMix64(seed);
        let starts = |_: &ProcessId| rng.one_in(2);
        let initiators: Vec<ProcessId> = all_processes(size).into_iter().filter(starts).collect();
        for at in initiators {
            cluster.issue_command(at, Command::Elect);
        }
        // A mistaken process may send without end.
        for _ in 0..400 {
            let Some(link) = rng.pick(&cluster.links_in_use()).copied() else { break };
            cluster.deliver(link, &mut rng);
        }
        let beliefs = unchecked_beliefs(&mut cluster);
        let is_asleep = cluster.total_sent() == 0;
        let agree = beliefs[0].is_some() && beliefs.iter().all(|it| *it == beliefs[0]);
        !is_asleep && (!agree || tree(&cluster) != kruskal(&config.graph))
    })
}

#[test]
fn every_mistake_is_caught() {
    let triangle = graph(3, &[(1, 2, 1), (2, 3, 2), (1, 3, 3)]);
    let line = graph(4, &[(1, 2, 1), (2, 3, 3), (3, 4, 2)]);
    let ascending = graph(4, &[(1, 2, 1), (2, 3, 2), (3, 4, 3)]);
    for (switch, graph) in [
        (VariantId::NoWait, &triangle),
        (VariantId::AbsorbAnyLevel, &line),
        (VariantId::ReportEarly, &ascending),
        (VariantId::SameWeights, &Graph::ring(3)),
    ] {
        assert!(is_caught(&with(graph, switch), ChannelOrder::Fifo), "{switch:?}");
        assert!(!is_caught(&on(graph), ChannelOrder::Fifo), "{switch:?}");
    }
}

#[test]
fn card_states_assumptions_and_costs() {
    let card = GallagerHumbletSpira::card(&on(&Graph::complete(4)), 4);
    assert_eq!(card.order, ChannelOrder::Fifo);
    assert!(!card.promises.contains(&Property::Validity), "the largest rank need not lead");
    assert_eq!((card.messages.least, card.messages.most), (20, Some(44)));
    let of_two = GallagerHumbletSpira::card(&on(&Graph::line(2)), 2).messages;
    assert_eq!(of_two.exact_messages(), Some(6));
}
