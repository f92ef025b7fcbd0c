//! The network that carries messages over several edges.

use std::sync::Arc;

use tenure_core::{Graph, ProcessId};

use crate::settings::error::SettingsError;

/// A network whose edges carry the messages. The delay of a message on an edge is a random latency
/// multiplied by the weight of the edge.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkGraph {
    graph: Arc<Graph>,
    /// Routes of an underlay. `None` if each message crosses one edge.
    routes: Option<Arc<Routes>>,
    /// For each vertex, the position of its first edge in the list of all directed edges. Each edge
    /// of the graph occurs in this list once for each direction.
    offsets: Arc<[usize]>,
}

/// Routes between all pairs of vertices. For each pair, only the next vertex of the route is
/// stored.
#[derive(Clone, Debug, PartialEq)]
struct Routes {
    size: usize,
    /// Next vertices of all routes. The element at the index `target * size + vertex` is the vertex
    /// that follows `vertex` on the route to `target`.
    next: Vec<ProcessId>,
    /// Total weight of the edges of the heaviest route.
    heaviest_weight: u64,
}

/// Maximum group size of an underlay, because its routes need memory for each pair of processes.
const MAX_UNDERLAY_SIZE: u32 = 1000;

impl NetworkGraph {
    /// Creates the network of an algorithm that sends each message along one edge of the graph.
    pub fn direct(graph: Arc<Graph>) -> Self {
        let mut offsets = Vec::with_capacity(graph.vertex_count() as usize);
        let mut edges = 0;
        for vertex in (0..graph.vertex_count()).map(ProcessId) {
            offsets.push(edges);
            edges += graph.degree(vertex);
        }
        NetworkGraph { graph, routes: None, offsets: offsets.into() }
    }

    /// Creates an underlay: a physical network that carries the messages of an algorithm, and that
    /// the algorithm does not know. Each message takes a path with the smallest total weight. If a
    /// process is down, its vertex still forwards messages.
    ///
    /// # Errors
    ///
    /// [`SettingsError::TooLargeForUnderlay`] if the group is too large.
    /// [`SettingsError::DisconnectedNetwork`] if the graph is not connected.
    pub fn underlay(graph: Arc<Graph>) -> Result<Self, SettingsError> {
        let size = graph.vertex_count();
        if size > MAX_UNDERLAY_SIZE {
            return Err(SettingsError::TooLargeForUnderlay { size, most: MAX_UNDERLAY_SIZE });
        }
        let routes = Routes::of(&graph).ok_or(SettingsError::DisconnectedNetwork)?;
        Ok(NetworkGraph { routes: Some(Arc::new(routes)), ..NetworkGraph::direct(graph) })
    }

    /// Returns the graph whose edges carry the messages.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// Returns true if the network is an underlay, in which a message may cross several edges.
    pub fn is_underlay(&self) -> bool {
        self.routes.is_some()
    }

    /// Returns the total weight of the edges of the heaviest route. If the network is not an
    /// underlay, a route is one edge.
    pub fn heaviest_route_weight(&self) -> u64 {
        match &self.routes {
            Some(routes) => routes.heaviest_weight,
            None => self.graph.edges().map(|(_, _, weight)| weight).max().unwrap_or(1),
        }
    }

    /// Returns the vertex that follows `at` on the route of a message to `to`. In a network that is
    /// not an underlay, this vertex is always `to`. If the graph has no edge from `at` to `to`, the
    /// message is delivered as over an edge of weight 1, and no edge counts the message.
    pub(crate) fn next_vertex(&self, at: ProcessId, to: ProcessId) -> ProcessId {
        match &self.routes {
            Some(routes) => routes.next[to.index() * routes.size + at.index()],
            None => to,
        }
    }

    /// Returns the weight of an edge, and the position of the edge in the list of all directed
    /// edges. Returns `None` if the graph has no such edge.
    pub(crate) fn edge_weight_and_position(
        &self,
        from: ProcessId,
        to: ProcessId,
    ) -> Option<(u64, usize)> {
        let place = self.graph.neighbours(from).binary_search(&to).ok()?;
        Some((self.graph.weight(from, to)?, self.offsets[from.index()] + place))
    }

    /// Returns the number of directed edges: each edge of the graph counts twice.
    pub(crate) fn directed_edge_count(&self) -> usize {
        2 * self.graph.edge_count()
    }
}

impl Routes {
    /// Returns the routes of a connected graph; `None` for other graphs.
    fn of(graph: &Graph) -> Option<Self> {
        let size = graph.vertex_count() as usize;
        let mut next = Vec::with_capacity(size * size);
        let mut longest = 0;
        for target in (0..graph.vertex_count()).map(ProcessId) {
            let costs: Vec<(u64, u32)> =
                graph.lightest_weights_to(target).into_iter().collect::<Option<_>>()?;
            longest = longest.max(costs.iter().map(|(weight, _)| *weight).max().unwrap_or(0));
            for at in (0..graph.vertex_count()).map(ProcessId) {
                let (weight, edges) = costs[at.index()];
                let is_next = |to: &&ProcessId| {
                    let (rest, fewer) = costs[to.index()];
                    let step = graph.weight(at, **to);
                    step.and_then(|step| step.checked_add(rest)) == Some(weight)
                        && fewer + 1 == edges
                };
                let found = graph.neighbours(at).iter().find(is_next).copied();
                next.push(if at == target { target } else { found? });
            }
        }
        Some(Routes { size, next, heaviest_weight: longest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_lightest_paths() {
        for seed in 0..10 {
            let graph =
                Arc::new(Graph::random_connected(9, 200_000, seed).with_distinct_weights(seed));
            let network = NetworkGraph::underlay(Arc::clone(&graph)).unwrap();
            let mut longest = 0;
            for one in (0..9).map(ProcessId) {
                for other in (0..9).map(ProcessId) {
                    let mut path = vec![one];
                    let mut weight = 0;
                    while path.last() != Some(&other) {
                        let at = path[path.len() - 1];
                        path.push(network.next_vertex(at, other));
                        weight += graph.weight(at, path[path.len() - 1]).unwrap();
                    }
                    assert_eq!(graph.lightest_path(one, other).as_ref(), Some(&path));
                    longest = longest.max(weight);
                }
            }
            assert_eq!(network.heaviest_route_weight(), longest);
        }
    }

    #[test]
    fn edges_have_distinct_positions() {
        let network = NetworkGraph::direct(Arc::new(Graph::grid(3, 3)));
        let mut seen = vec![false; network.directed_edge_count()];
        for (one, other, _) in network.graph().edges() {
            for (from, to) in [(one, other), (other, one)] {
                let (weight, place) = network.edge_weight_and_position(from, to).unwrap();
                assert!(weight == 1 && !std::mem::replace(&mut seen[place], true));
            }
        }
        assert!(seen.into_iter().all(|it| it));
        assert_eq!(network.edge_weight_and_position(ProcessId(0), ProcessId(8)), None);
        assert_eq!((network.heaviest_route_weight(), network.is_underlay()), (1, false));
    }

    #[test]
    fn rejects_disconnected_network() {
        let graph = Graph::new(3, [(ProcessId(0), ProcessId(1), 1)]).unwrap();
        assert_eq!(
            NetworkGraph::underlay(Arc::new(graph)),
            Err(SettingsError::DisconnectedNetwork)
        );
        let large = NetworkGraph::underlay(Arc::new(Graph::line(1001)));
        assert!(matches!(large, Err(SettingsError::TooLargeForUnderlay { size: 1001, .. })));
    }
}
