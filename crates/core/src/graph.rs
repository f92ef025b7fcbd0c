//! Undirected graphs over the processes of a group: neighbours, distances and paths.

use core::fmt;
use core::hash::{Hash, Hasher};

use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;
use alloc::{format, vec};

use crate::process::ProcessId;
use crate::tree::{RootedTree, TreeError};

mod shapes;
mod words;

pub use shapes::near_square_factors;
pub use words::ParseGraphError;

/// An edge: its two ends and its weight. In the results of [`Graph::edges`], the smaller end comes
/// first.
pub type WeightedEdge = (ProcessId, ProcessId, u64);

/// An undirected graph whose vertices are the processes of a group. The graph may be disconnected.
///
/// The weight of an edge is at least 1. Every edge has the weight 1 if no weights are stated.
#[derive(Clone, PartialEq, Eq)]
pub struct Graph {
    /// Neighbours of each vertex, in ascending order.
    neighbours: Vec<Vec<ProcessId>>,
    /// Weight of the edge to each neighbour, in the order of `neighbours`.
    weights: Vec<Vec<u64>>,
}

/// Error: the edges do not form a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphError {
    /// An edge joins this vertex with itself.
    SelfLoop(ProcessId),
    /// Two edges join these two vertices.
    DuplicateEdge(ProcessId, ProcessId),
    /// An edge names a vertex that the graph does not contain.
    VertexOutOfRange {
        /// End of the edge. The graph does not contain this vertex.
        vertex: ProcessId,
        /// Number of vertices of the graph.
        vertices: u32,
    },
    /// The edge between these two vertices has the weight 0.
    ZeroWeight(ProcessId, ProcessId),
    /// A hypercube cannot have this number of vertices, because the number is not a power of two.
    NotAPowerOfTwo(u32),
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GraphError::SelfLoop(vertex) => {
                write!(f, "edge {vertex} – {vertex} joins a vertex with itself")
            }
            GraphError::DuplicateEdge(one, other) => {
                write!(f, "edge {one} – {other} occurs twice")
            }
            GraphError::VertexOutOfRange { vertex, vertices } => {
                write!(f, "vertex {vertex} is outside of the group P1 to P{vertices}")
            }
            GraphError::ZeroWeight(one, other) => {
                write!(f, "edge {one} – {other} has the weight 0: expected at least 1")
            }
            GraphError::NotAPowerOfTwo(size) => {
                write!(f, "a hypercube of {size} vertices does not exist: expected a power of two")
            }
        }
    }
}

impl core::error::Error for GraphError {}

impl Graph {
    /// Creates the graph with these weighted edges over `vertices` processes. The order of edges,
    /// and of the ends of an edge, does not matter.
    ///
    /// # Errors
    ///
    /// [`GraphError`] for the first edge that is a self loop, occurs twice, has a weight of 0, or
    /// has an end outside of the group.
    pub fn new(
        vertices: u32,
        edges: impl IntoIterator<Item = WeightedEdge>,
    ) -> Result<Self, GraphError> {
        let mut joined: Vec<Vec<(ProcessId, u64)>> = vec![Vec::new(); vertices as usize];
        let mut seen = BTreeSet::new();
        for (one, other, weight) in edges {
            if let Some(vertex) = [one, other].into_iter().find(|end| end.0 >= vertices) {
                return Err(GraphError::VertexOutOfRange { vertex, vertices });
            }
            if one == other {
                return Err(GraphError::SelfLoop(one));
            }
            if weight == 0 {
                return Err(GraphError::ZeroWeight(one, other));
            }
            if !seen.insert((one.min(other), one.max(other))) {
                return Err(GraphError::DuplicateEdge(one, other));
            }
            joined[one.index()].push((other, weight));
            joined[other.index()].push((one, weight));
        }
        for ends in &mut joined {
            ends.sort_unstable();
        }
        let (neighbours, weights) = joined.into_iter().map(|ends| ends.into_iter().unzip()).unzip();
        Ok(Graph { neighbours, weights })
    }

    /// Returns the number of vertices, which is the number of processes in the group.
    pub fn vertex_count(&self) -> u32 {
        ProcessId::from_index(self.neighbours.len()).0
    }

    /// Returns the neighbours of a vertex, in ascending order.
    ///
    /// # Panics
    ///
    /// If the graph does not contain the vertex.
    pub fn neighbours(&self, vertex: ProcessId) -> &[ProcessId] {
        &self.neighbours[vertex.index()]
    }

    /// Returns the number of neighbours of a vertex.
    ///
    /// # Panics
    ///
    /// If the graph does not contain the vertex.
    pub fn degree(&self, vertex: ProcessId) -> usize {
        self.neighbours(vertex).len()
    }

    /// Returns the weight of the edge between two vertices, or `None` if there is no such edge.
    pub fn weight(&self, one: ProcessId, other: ProcessId) -> Option<u64> {
        let place = self.neighbours.get(one.index())?.binary_search(&other).ok()?;
        Some(self.weights[one.index()][place])
    }

    /// Returns true if an edge joins the two vertices.
    pub fn has_edge(&self, one: ProcessId, other: ProcessId) -> bool {
        self.weight(one, other).is_some()
    }

    /// Returns all edges in ascending order. Each edge occurs once, with its smaller vertex first.
    pub fn edges(&self) -> impl Iterator<Item = WeightedEdge> + '_ {
        let all = self.neighbours.iter().zip(&self.weights).enumerate();
        all.flat_map(|(place, (neighbours, weights))| {
            let one = ProcessId::from_index(place);
            let ends = neighbours.iter().zip(weights).filter(move |(other, _)| one < **other);
            ends.map(move |(other, weight)| (one, *other, *weight))
        })
    }

    /// Returns the number of edges.
    pub fn edge_count(&self) -> usize {
        self.neighbours.iter().map(Vec::len).sum::<usize>() / 2
    }

    /// Returns true if all weights are 1.
    pub fn has_unit_weights(&self) -> bool {
        self.weights.iter().flatten().all(|weight| *weight == 1)
    }

    /// Returns true if each vertex is joined to each other vertex by a path. The empty graph is
    /// connected.
    pub fn is_connected(&self) -> bool {
        self.neighbours.is_empty() || self.distances_from(ProcessId(0)).iter().all(Option::is_some)
    }

    /// Returns true if the graph is connected, has a vertex, and has no cycle.
    pub fn is_tree(&self) -> bool {
        self.edge_count() + 1 == self.neighbours.len() && self.is_connected()
    }

    /// Returns the graph as a tree rooted at the first process, without weights.
    ///
    /// # Errors
    ///
    /// [`TreeError`] if the graph is not a tree.
    pub fn to_tree(&self) -> Result<RootedTree, TreeError> {
        RootedTree::from_edges(
            self.vertex_count(),
            self.edges().map(|(one, other, _)| (one, other)),
        )
    }

    /// Returns, for each vertex, the number of edges on a shortest path from `source`. The element
    /// is `None` for a vertex that no path joins with `source`.
    ///
    /// # Panics
    ///
    /// If the graph does not contain `source`.
    pub fn distances_from(&self, source: ProcessId) -> Vec<Option<u32>> {
        let mut distances = vec![None; self.neighbours.len()];
        distances[source.index()] = Some(0);
        let mut queue = VecDeque::from([(source, 0)]);
        while let Some((at, distance)) = queue.pop_front() {
            for next in self.neighbours(at) {
                if distances[next.index()].is_none() {
                    distances[next.index()] = Some(distance + 1);
                    queue.push_back((*next, distance + 1));
                }
            }
        }
        distances
    }

    /// Returns the number of edges on a shortest path between two vertices, or `None` if no path
    /// joins them. Weights are ignored.
    ///
    /// # Panics
    ///
    /// If the graph does not contain the vertices.
    pub fn hop_distance(&self, one: ProcessId, other: ProcessId) -> Option<u32> {
        self.distances_from(one)[other.index()]
    }

    /// Returns the largest distance between two vertices, or `None` if the graph is disconnected
    /// or empty.
    pub fn hop_diameter(&self) -> Option<u32> {
        let sources = (0..self.vertex_count()).map(ProcessId);
        sources
            .map(|source| self.distances_from(source).into_iter().collect::<Option<Vec<u32>>>())
            .map(|distances| distances?.into_iter().max())
            .collect::<Option<Vec<u32>>>()?
            .into_iter()
            .max()
    }

    /// Returns a path with the fewest edges, both ends included. If several paths have the fewest
    /// edges, returns the lexicographically smallest of them. Returns `None` if no path joins the
    /// vertices.
    ///
    /// # Panics
    ///
    /// If the graph does not contain the vertices.
    pub fn min_hop_path(&self, one: ProcessId, other: ProcessId) -> Option<Vec<ProcessId>> {
        let distances = self.distances_from(other);
        self.descend(one, other, |at, next| {
            let left = distances[at.index()]?;
            (distances[next.index()]? + 1 == left).then_some(())
        })
    }

    /// Returns, for each vertex, two numbers: the smallest total weight of a path to `target`, and
    /// the smallest number of edges among the paths with this weight. The element is `None` for a
    /// vertex without a path to `target`. This is Dijkstra's algorithm (1959).
    ///
    /// # Panics
    ///
    /// If the graph does not contain `target`.
    pub fn lightest_weights_to(&self, target: ProcessId) -> Vec<Option<(u64, u32)>> {
        let mut weights: Vec<Option<(u64, u32)>> = vec![None; self.neighbours.len()];
        weights[target.index()] = Some((0, 0));
        let mut open = BTreeSet::from([((0_u64, 0_u32), target)]);
        while let Some(((weight, edges), at)) = open.pop_first() {
            for (next, more) in self.neighbours(at).iter().zip(&self.weights[at.index()]) {
                let cost = (weight.saturating_add(*more), edges + 1);
                let known = &mut weights[next.index()];
                if known.is_none_or(|known| cost < known) {
                    if let Some(known) = known.replace(cost) {
                        open.remove(&(known, *next));
                    }
                    open.insert((cost, *next));
                }
            }
        }
        weights
    }

    /// Returns a path with the smallest total weight, both ends included. Of several paths with
    /// this weight, returns a path with the fewest edges. Of several paths with the fewest edges,
    /// returns the lexicographically smallest. Returns `None` if no path joins the vertices.
    ///
    /// # Panics
    ///
    /// If the graph does not contain the vertices.
    pub fn lightest_path(&self, one: ProcessId, other: ProcessId) -> Option<Vec<ProcessId>> {
        let weights = self.lightest_weights_to(other);
        self.descend(one, other, |at, next| {
            let (weight, edges) = weights[next.index()]?;
            let cost = (weight.saturating_add(self.weight(at, next)?), edges + 1);
            (weights[at.index()]? == cost).then_some(())
        })
    }

    /// Returns a path from `source` to `target`. At each vertex, the path continues with the
    /// smallest neighbour for which `nearer(vertex, neighbour)` returns `Some`. If a vertex on the
    /// path has no such neighbour, returns `None`.
    fn descend(
        &self,
        source: ProcessId,
        target: ProcessId,
        nearer: impl Fn(ProcessId, ProcessId) -> Option<()>,
    ) -> Option<Vec<ProcessId>> {
        let mut path = vec![source];
        let mut at = source;
        while at != target {
            let steps = &mut self.neighbours(at).iter();
            at = *steps.find(|next| nearer(at, **next).is_some())?;
            path.push(at);
        }
        Some(path)
    }
}

impl From<&RootedTree> for Graph {
    fn from(tree: &RootedTree) -> Self {
        let processes = (0..tree.size()).map(ProcessId);
        let edges = processes.filter_map(|child| Some((tree.parent(child)?, child, 1)));
        Graph::new(tree.size(), edges).expect("the edges of a tree join different processes once")
    }
}

/// Hashes only the number of vertices and the number of edges. A hash of all edges would be slower
/// and separate no more states: in one search, nearly all states contain the same graph.
impl Hash for Graph {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.vertex_count(), self.edge_count()).hash(state);
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let edges = self.edges().map(|(one, other, weight)| match weight {
            1 => format!("{one}–{other}"),
            _ => format!("{one}–{other}:{weight}"),
        });
        let edges: Vec<_> = edges.collect();
        write!(f, "Graph of {} [{}]", self.vertex_count(), edges.join(" "))
    }
}

#[cfg(test)]
mod tests;
