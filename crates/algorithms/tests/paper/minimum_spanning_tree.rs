//! R. G. Gallager, P. A. Humblet, P. M. Spira, *A distributed algorithm for minimum-weight spanning
//! trees*, ACM TOPLAS 5(1), 1983: the tree as a result for each process.

use std::sync::Arc;

use tenure_algorithms::Variants;
use tenure_algorithms::agreement::MinimumSpanningTree;
use tenure_algorithms::election::gallager_humblet_spira::{Config, VariantId};
use tenure_core::monitors::MinimumTree;
use tenure_core::service::spanning_tree::Command;
use tenure_core::{Algorithm, ChannelOrder, Graph, Monitor, ProcessId};
use tenure_trace::{ProcessEvent, SplitMix64, TestCluster};

use crate::support::graphs::connected_graphs;

fn config(graph: &Graph, variants: Variants<VariantId>) -> Config {
    Config { graph: Arc::new(graph.clone()), variants }
}

/// Lets the processes in `from` start the algorithm, and delivers messages in random order. Returns
/// the number of processes that know their edges, and the number of sent messages. A violation that
/// the monitor finds is returned as an error.
fn build(config: &Config, from: &[u32], seed: u64) -> Result<(u32, u64), String> {
    let size = config.graph.vertex_count();
    let mut cluster = TestCluster::<MinimumSpanningTree>::with_same_config(
        size,
        ChannelOrder::Fifo,
        config.clone(),
    );
    for at in from {
        cluster.issue_command(ProcessId(*at), Command::Build);
    }
    cluster.deliver_all(&mut SplitMix64(seed));
    let (mut monitor, mut informed) = (MinimumTree::for_graph(&config.graph), 0);
    for (at, seen) in cluster.take_events() {
        monitor.observe(at, seen.to_observation()).map_err(|violation| violation.message)?;
        informed += u32::from(matches!(seen, ProcessEvent::Event(_)));
    }
    Ok((informed, cluster.total_sent()))
}

/// Builds the minimum spanning tree of every connected graph with up to five processes. Every
/// process learns once which of its edges belong to the tree. The number of messages is within the
/// bounds on the algorithm's card.
#[test]
fn every_process_names_its_edges_of_the_minimum_tree() {
    for size in 1..=5 {
        for (seed, graph) in (0..).zip(connected_graphs(size)) {
            let graph = graph.with_distinct_weights(seed);
            let config = config(&graph, Variants::none());
            let all: Vec<u32> = (0..size).collect();
            let from = if seed % 2 == 0 { &all[..] } else { &all[..1] };
            let (informed, sent) = build(&config, from, seed).unwrap();
            assert_eq!(informed, size, "{graph}");
            let cost = MinimumSpanningTree::card(&config, size).messages;
            let most = cost.most.expect("the card has a bound");
            assert!((cost.least..=most).contains(&sent), "{sent} messages on {graph}");
        }
    }
}

#[test]
fn monitor_rejects_tree_of_other_weights() {
    let graph: Graph = "1-2:1,2-3:2,3-1:3".parse().expect("a graph");
    let other: Graph = "1-2:3,2-3:2,3-1:1".parse().expect("a graph");
    let config = config(&graph, Variants::none());
    let mut cluster =
        TestCluster::<MinimumSpanningTree>::with_same_config(3, ChannelOrder::Fifo, config);
    cluster.issue_command(ProcessId(0), Command::Build);
    cluster.deliver_all(&mut SplitMix64(1));
    let mut monitor = MinimumTree::for_graph(&other);
    let events = cluster.take_events();
    assert!(events.iter().any(|(at, seen)| monitor.observe(*at, seen.to_observation()).is_err()));
}
