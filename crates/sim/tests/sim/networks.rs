//! Tests of runs in which messages travel along the edges of a network.

use std::sync::Arc;

use tenure_algorithms::catalogue::Parameters;
use tenure_algorithms::mutex::{Raymond, raymond};
use tenure_core::monitors::LinksOnly;
use tenure_core::tree::TreeShape;
use tenure_core::{Graph, Property};
use tenure_sim::{
    Distribution, Judgement, NetworkGraph, NetworkLoad, RunReport, Settings, Simulation, Workload,
};

use crate::by_service::simulate;
use crate::common::{Permission, Rule};

/// Returns the settings of a group whose processes enter once each.
fn settings(size: u32) -> Settings {
    Settings { workload: Workload::entries(1), ..Settings::new(size) }
}

/// Runs a lock over a network. The lock broadcasts its requests and collects replies.
fn overlay(graph: Graph, latency: Distribution) -> RunReport {
    let mut settings = settings(graph.vertex_count());
    settings.network.graph = Some(NetworkGraph::underlay(Arc::new(graph)).unwrap());
    settings.network.latency = latency.into();
    Simulation::<Permission>::new(Rule::Stamps, settings).run().unwrap()
}

fn load(report: &RunReport) -> &NetworkLoad {
    report.metrics.network.as_deref().expect("a network")
}

/// In a run of the lock, each process sends a request to each other process and receives a reply. A
/// message must load as many edges as the distance between its sender and its receiver.
#[test]
fn overlay_of_broadcasts_loads_edges_by_distances() {
    for graph in [Graph::grid(2, 3), Graph::star(6), Graph::ring(6), Graph::complete(6)] {
        let distances: u64 = (0..6)
            .flat_map(|source| graph.distances_from(tenure_core::ProcessId(source)))
            .map(|distance| u64::from(distance.expect("a connected graph")))
            .sum();
        let (diameter, edges) = (graph.hop_diameter().unwrap(), graph.edge_count());
        let report = overlay(graph, Distribution::time_units(1));
        let load = load(&report);
        assert_eq!(load.messages, report.metrics.sent);
        assert_eq!(report.metrics.sent, 6 * 2 * 5);
        // A request and a reply between all ordered pairs.
        assert_eq!(load.hops, 2 * distances);
        assert_eq!(load.longest_path, diameter);
        assert_eq!(load.edges.iter().map(|edge| edge.messages).sum::<u64>(), load.hops);
        assert!((load.mean_messages_per_edge() - load.hops as f64 / edges as f64).abs() < 1e-9);
    }
}

#[test]
fn star_carries_all_messages_over_its_hub() {
    let report = overlay(Graph::star(5), Distribution::time_units(1));
    // Each edge of the star carries all messages of one leaf: 4 requests and 4 replies in each
    // direction.
    let load = load(&report);
    assert_eq!((load.max_messages_per_edge(), load.mean_messages_per_edge()), (16, 16.0));
    assert_eq!(load.mean_hops(), 64.0 / 40.0);
}

#[test]
fn longer_routes_take_longer() {
    let entered = |graph| overlay(graph, Distribution::time_units(1)).metrics.entry_delay.longest;
    let (complete, line) = (entered(Graph::complete(6)), entered(Graph::line(6)));
    let heavy = entered(Graph::line(6).with_distinct_weights(1));
    assert!(complete < line && line < heavy, "{complete}, {line}, {heavy}");
}

#[test]
fn run_over_network_depends_on_seed_alone() {
    let run =
        || overlay(Graph::random_connected(7, 300_000, 5), Distribution::between_time_units(1, 9));
    assert_eq!(run(), run());
    assert!(run().failures().next().is_none());
}

#[test]
fn message_beside_edges_violates_topology() {
    let judged = |shape: TreeShape, graph: Graph| {
        let mut settings = settings(5);
        let graph = Arc::new(graph);
        settings.network.graph = Some(NetworkGraph::direct(Arc::clone(&graph)));
        settings.monitoring.allowed_links = Some(LinksOnly::in_graph(graph));
        let config = raymond::Config::with_tree_shape(shape, 5);
        let report = simulate::<Raymond>(config, settings);
        let finding = report.finding(Property::Topology.name()).expect("a judgement").clone();
        (finding.judgement, finding.violation.map(|first| first.message))
    };
    assert_eq!(judged(TreeShape::Path, Graph::line(5)), (Judgement::Holds, None));
    assert_eq!(judged(TreeShape::Heap, Graph::binary_tree(5)), (Judgement::Holds, None));
    let (judgement, message) = judged(TreeShape::Star, Graph::line(5));
    assert_eq!(judgement, Judgement::Violated);
    let message = message.expect("the first violation");
    assert!(message.contains("which is not its neighbour in the graph"), "{message}");
}

#[test]
fn parameters_check_their_graph() {
    let on = |graph: Graph, size| {
        let plain = Parameters::with_defaults(size);
        Parameters { graph: Some(Arc::new(graph)), ..plain }.graph().map_err(|it| it.to_string())
    };
    assert_eq!(Parameters::with_defaults(4).graph().unwrap(), Arc::new(Graph::ring(4)));
    assert_eq!(on(Graph::grid(2, 2), 4), Ok(Arc::new(Graph::grid(2, 2))));
    let message = "a graph of 4 vertices for 5 processes: expected 5";
    assert_eq!(on(Graph::grid(2, 2), 5), Err(message.to_owned()));
    let message = "the graph is not connected: no path joins P1 and P2";
    assert_eq!(on(Graph::new(3, []).unwrap(), 3), Err(message.to_owned()));
}
