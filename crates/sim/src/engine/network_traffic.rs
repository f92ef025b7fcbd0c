//! Messages on the edges of a network.

use tenure_core::ProcessId;

use crate::engine::random::Random;
use crate::results::network_load::{EdgeLoad, NetworkLoad};
use crate::settings::latency::Latency;
use crate::settings::network_graph::NetworkGraph;

/// The network of a run and its load so far.
#[derive(Debug)]
pub(crate) struct NetworkTraffic {
    network_graph: NetworkGraph,
    /// Number of messages that crossed each directed edge, by the position of the edge in the
    /// network. Each edge of the graph has two directions.
    carried: Vec<u64>,
    /// Number of messages that the network has carried.
    messages: u64,
    /// Total number of edges on the routes of these messages.
    edges: u64,
    /// Number of edges on the longest route of these messages.
    longest: u32,
}

impl NetworkTraffic {
    pub(crate) fn new(network_graph: NetworkGraph) -> Self {
        let carried = vec![0; network_graph.directed_edge_count()];
        NetworkTraffic { network_graph, carried, messages: 0, edges: 0, longest: 0 }
    }

    pub(crate) fn heaviest_route_weight(&self) -> u64 {
        self.network_graph.heaviest_route_weight()
    }

    /// Counts a message on each edge of its route, and returns its random delay, in ticks.
    pub(crate) fn carry_message(
        &mut self,
        from: ProcessId,
        to: ProcessId,
        latency: &Latency,
        random: &mut Random,
    ) -> u64 {
        let size = self.network_graph.graph().vertex_count();
        let (mut at, mut delay, mut edges) = (from, 0_u64, 0);
        while at != to {
            let next = self.network_graph.next_vertex(at, to);
            let drawn = latency.draw(size, at, next, random);
            let mut weight = 1;
            if let Some((own, place)) = self.network_graph.edge_weight_and_position(at, next) {
                weight = own;
                self.carried[place] += 1;
            }
            delay = delay.saturating_add(drawn.saturating_mul(weight));
            edges += 1;
            at = next;
        }
        self.messages += 1;
        self.edges += u64::from(edges);
        self.longest = self.longest.max(edges);
        delay
    }

    pub(crate) fn load(&self) -> NetworkLoad {
        let load = |(one, other, weight)| {
            let carried = |from, to| {
                let place =
                    self.network_graph.edge_weight_and_position(from, to).map(|(_, place)| place);
                place.map_or(0, |place| self.carried[place])
            };
            EdgeLoad { one, other, weight, messages: carried(one, other) + carried(other, one) }
        };
        NetworkLoad {
            is_underlay: self.network_graph.is_underlay(),
            messages: self.messages,
            hops: self.edges,
            longest_path: self.longest,
            edges: self.network_graph.graph().edges().map(load).collect(),
        }
    }
}
