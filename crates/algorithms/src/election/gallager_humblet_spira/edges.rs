//! Adjacent edges of a process and their states.

use alloc::vec::Vec;

use tenure_core::{Graph, Group, ProcessId};

use super::Weight;
use super::rules::Rules;

/// Edges of a process, in ascending order of weight. Edges of equal weight are sorted by neighbour,
/// clockwise from the process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Edges(Vec<Edge>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Edge {
    peer: ProcessId,
    weight: Weight,
    state: EdgeState,
}

/// State of an edge, as the process at one of its ends knows it (`SE` in the paper).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum EdgeState {
    /// It is not decided whether the edge belongs to the tree.
    Basic,
    /// The edge belongs to the tree.
    Branch,
    /// Both ends are in one fragment, and the edge does not belong to the tree.
    Rejected,
}

impl Edges {
    /// Returns the edges of a process, all of them undecided.
    pub(super) fn new(graph: &Graph, group: Group, rules: Rules) -> Self {
        let me = group.me();
        let edge = |peer: &ProcessId| {
            let value = graph.weight(me, *peer).expect("neighbours share an edge");
            Edge {
                peer: *peer,
                weight: rules.edge_weight(value, me, *peer),
                state: EdgeState::Basic,
            }
        };
        let clockwise = |edge: &Edge| (edge.peer.0 + group.size() - me.0) % group.size();
        let mut edges: Vec<Edge> = graph.neighbours(me).iter().map(edge).collect();
        edges.sort_unstable_by_key(|edge| (edge.weight, clockwise(edge)));
        Edges(edges)
    }

    pub(super) fn lightest_basic_neighbour(&self) -> Option<ProcessId> {
        let lightest = self.0.iter().find(|edge| edge.state == EdgeState::Basic);
        lightest.map(|edge| edge.peer)
    }

    /// Returns the neighbours to which this process has an edge of the tree, the lightest edge
    /// first.
    pub(super) fn branch_neighbours(&self) -> impl Iterator<Item = ProcessId> + '_ {
        let is_branch = |edge: &&Edge| edge.state == EdgeState::Branch;
        self.0.iter().filter(is_branch).map(|edge| edge.peer)
    }

    pub(super) fn weight(&self, peer: ProcessId) -> Option<Weight> {
        self.edge(peer).map(|edge| edge.weight)
    }

    pub(super) fn has_edge_in_state(&self, state: EdgeState, peer: ProcessId) -> bool {
        self.edge(peer).is_some_and(|edge| edge.state == state)
    }

    pub(super) fn add_branch(&mut self, peer: ProcessId) {
        self.set(peer, EdgeState::Branch);
    }

    /// Marks the edge to `peer` as not belonging to the tree. Has no effect if the state of the
    /// edge is already decided.
    pub(super) fn reject_if_basic(&mut self, peer: ProcessId) {
        if self.has_edge_in_state(EdgeState::Basic, peer) {
            self.set(peer, EdgeState::Rejected);
        }
    }

    fn set(&mut self, peer: ProcessId, state: EdgeState) {
        if let Some(edge) = self.0.iter_mut().find(|edge| edge.peer == peer) {
            edge.state = state;
        }
    }

    fn edge(&self, peer: ProcessId) -> Option<&Edge> {
        self.0.iter().find(|edge| edge.peer == peer)
    }
}
