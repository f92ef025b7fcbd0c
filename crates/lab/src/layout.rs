//! Layout of processes in the picture. The layout includes links that show the structure of an
//! algorithm, even if the algorithm sends no messages over them.

use std::collections::BTreeSet;

use serde::Serialize;
use tenure_core::quorum::{QuorumKind, QuorumSystem};
use tenure_core::tree::{RootedTree, TreeShape};
use tenure_core::{Card, Graph, ProcessId, Topology};

use crate::graph_layout::{GraphArrangement, arrangement};

/// Arrangement of the processes and their links in the picture of a group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeLayout {
    form: Form,
    /// Links, each as the process numbers of its two ends, from 1. In a tree, the parent comes
    /// first. In a star, the process in the centre comes first.
    links: Vec<[u32; 2]>,
    /// For each process, by index: its quorum, as process numbers. Empty if the algorithm uses no
    /// quorums.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    quorums: Vec<Vec<u32>>,
    /// For each process, by index: its position in the unit square, if the form is `Placed`. Empty
    /// for all other forms.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    at: Vec<[f64; 2]>,
    /// Weight of each link, in the order of `links`. Empty if all weights are 1.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    weights: Vec<u64>,
}

/// Shape in which the page draws the processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Form {
    /// All processes in a circle.
    Ring,
    /// One process in the centre, and all other processes around it.
    Star,
    /// Each process below its parent.
    Tree,
    /// The processes in rows and columns.
    Grid,
    /// Each process at its position in [`NodeLayout::at`].
    Placed,
}

impl NodeLayout {
    /// Arranges all processes in a circle. If there are at most 8 processes, links each pair. With
    /// more, the links could not be distinguished, and there are none.
    pub fn circle(size: u32) -> NodeLayout {
        const MAX_LINKED: u32 = 8;
        let among = if size > MAX_LINKED { 0 } else { size };
        let pairs = |one| (one + 1..=among).map(move |other| [one, other]);
        NodeLayout::of_form(Form::Ring, (1..=among).flat_map(pairs).collect())
    }

    fn of_form(form: Form, links: Vec<[u32; 2]>) -> NodeLayout {
        NodeLayout { form, links, quorums: Vec::new(), at: Vec::new(), weights: Vec::new() }
    }

    /// Returns the layout for an algorithm with `size` processes. If the [`Card`] names a ring, a
    /// star or a tree as the topology, the layout has this shape: `centre` is the centre of the
    /// star, and `tree` is the tree. Otherwise, the layout shows `quorums`. If there are no
    /// quorums, the result is that of [`NodeLayout::circle`].
    pub fn for_algorithm(
        card: &Card,
        size: u32,
        centre: ProcessId,
        tree: &RootedTree,
        quorums: Option<&QuorumSystem>,
    ) -> NodeLayout {
        let all = || (0..size).map(ProcessId);
        let next = |at: ProcessId| (at, ProcessId((at.0 + 1) % size.max(1)));
        match card.topology {
            topology if topology.is_ring() => {
                NodeLayout::of_form(Form::Ring, links(all().map(next)))
            }
            Topology::Star => {
                let others = all().filter(|at| *at != centre);
                NodeLayout::of_form(Form::Star, links(others.map(|at| (centre, at))))
            }
            Topology::Tree => NodeLayout::of_form(Form::Tree, parent_links(tree)),
            _ => match quorums {
                Some(quorums) => NodeLayout::of_quorums(quorums),
                None => NodeLayout::circle(size),
            },
        }
    }

    /// Arranges the vertices of `graph`, which are processes, and links them by its edges. A
    /// regular shape is drawn in its usual form. Any other graph is drawn by the distances between
    /// its vertices or, if it is large, in a circle.
    pub fn of_graph(graph: &Graph) -> NodeLayout {
        let edges = || graph.edges().map(|(one, other, _)| (one, other));
        let laid = match arrangement(graph) {
            GraphArrangement::Circle => NodeLayout::of_form(Form::Ring, links(edges())),
            GraphArrangement::Star(hub) => {
                let leaves = graph.neighbours(hub).iter();
                NodeLayout::of_form(Form::Star, links(leaves.map(|leaf| (hub, *leaf))))
            }
            GraphArrangement::Tree => {
                let tree = graph.to_tree().expect("the graph is a tree");
                NodeLayout::of_form(Form::Tree, parent_links(&tree))
            }
            GraphArrangement::Placed(at) => {
                NodeLayout { at, ..NodeLayout::of_form(Form::Placed, links(edges())) }
            }
        };
        if graph.has_unit_weights() {
            return laid;
        }
        let process = |number: u32| ProcessId(number - 1);
        let weight = |[one, other]: &[u32; 2]| graph.weight(process(*one), process(*other));
        NodeLayout { weights: laid.links.iter().filter_map(weight).collect(), ..laid }
    }

    /// Arranges the processes of an algorithm with quorums. Grid quorums are drawn in rows and
    /// columns, tree quorums as a tree, and all other quorums in a circle. Except in a tree and for
    /// majorities, links join each process to the members of its quorum.
    fn of_quorums(quorums: &QuorumSystem) -> NodeLayout {
        let all = || (0..quorums.size()).map(ProcessId);
        let quorum_of =
            |at: ProcessId| quorums.quorum(at).iter().map(ProcessId::display_number).collect();
        let peers = |at: ProcessId| quorums.quorum(at).iter().filter(move |to| *to != at);
        let pairs = all().flat_map(|at| peers(at).map(move |to| (at.min(to), at.max(to))));
        let pairs: BTreeSet<(ProcessId, ProcessId)> = pairs.collect();
        let laid = match quorums.kind() {
            Some(QuorumKind::Grid) => NodeLayout::of_form(Form::Grid, links(pairs)),
            Some(QuorumKind::Tree) => NodeLayout::of_form(
                Form::Tree,
                parent_links(&RootedTree::from_shape(TreeShape::Heap, quorums.size())),
            ),
            Some(QuorumKind::Majority) => NodeLayout::circle(quorums.size()),
            Some(QuorumKind::Pairs | QuorumKind::Plane) | None => {
                NodeLayout::of_form(Form::Ring, links(pairs))
            }
        };
        NodeLayout { quorums: all().map(quorum_of).collect(), ..laid }
    }
}

fn links(pairs: impl IntoIterator<Item = (ProcessId, ProcessId)>) -> Vec<[u32; 2]> {
    pairs.into_iter().map(|(one, other)| [one.display_number(), other.display_number()]).collect()
}

/// Returns the links of a tree: each process with its parent, the parent first.
fn parent_links(tree: &RootedTree) -> Vec<[u32; 2]> {
    let all = (0..tree.size()).map(ProcessId);
    links(all.filter_map(|at| tree.parent(at).map(|parent| (parent, at))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_trees_from_parents_and_stars_from_centers() {
        let card = |topology| Card { topology, ..Card::mutex("a-lock", "a lock", "nobody") };
        let heap = RootedTree::from_shape(TreeShape::Heap, 4);
        let of = |topology| {
            NodeLayout::for_algorithm(&card(topology), 4, ProcessId(1), &heap, None).links
        };
        assert_eq!(of(Topology::Tree), [[1, 2], [1, 3], [2, 4]]);
        assert_eq!(of(Topology::Star), [[2, 1], [2, 3], [2, 4]]);
        assert_eq!(of(Topology::UnidirectionalRing), [[1, 2], [2, 3], [3, 4], [4, 1]]);
        assert_eq!(of(Topology::Complete).len(), 6);
    }

    #[test]
    fn lays_out_quorums_by_their_construction() {
        let card = Card::mutex("a-lock", "a lock", "nobody");
        let of = |kind, size| {
            let (tree, quorums) = (
                RootedTree::from_shape(TreeShape::Star, size),
                QuorumSystem::from_kind(kind, size).ok(),
            );
            NodeLayout::for_algorithm(&card, size, ProcessId(0), &tree, quorums.as_ref())
        };
        let grid = of(QuorumKind::Grid, 4);
        assert_eq!((grid.form, &grid.quorums[0]), (Form::Grid, &vec![1, 2, 3]));
        assert_eq!(grid.links, [[1, 2], [1, 3], [2, 4], [3, 4]], "rows and columns");
        let tree = of(QuorumKind::Tree, 7);
        assert_eq!((tree.form, &tree.quorums[3]), (Form::Tree, &vec![1, 2, 4]), "a path");
        assert_eq!(tree.links, [[1, 2], [1, 3], [2, 4], [2, 5], [3, 6], [3, 7]]);
        let plane = of(QuorumKind::Plane, 7);
        assert_eq!((plane.form, &plane.quorums[0]), (Form::Ring, &vec![1, 2, 3]));
        assert!(!plane.links.contains(&[1, 6]), "neither asks the other: {:?}", plane.links);
        assert_eq!(of(QuorumKind::Majority, 5).quorums[4], [1, 2, 5]);
        assert_eq!(of(QuorumKind::Pairs, 4), NodeLayout::circle(4), "there are none of four");
    }

    #[test]
    fn networks_have_positions_and_weights() {
        let grid = NodeLayout::of_graph(&Graph::grid(2, 2));
        assert_eq!((grid.form, &grid.links), (Form::Placed, &vec![[1, 2], [1, 3], [2, 4], [3, 4]]));
        assert_eq!(grid.at.len(), 4);
        assert!(grid.weights.is_empty());
        let star = NodeLayout::of_graph(&Graph::star(4).with_distinct_weights(1));
        assert_eq!((star.form, star.weights.len()), (Form::Star, 3));
        assert_eq!(NodeLayout::of_graph(&Graph::binary_tree(7)).form, Form::Tree);
        assert_eq!(NodeLayout::of_graph(&Graph::ring(7)).form, Form::Ring);
    }
}
