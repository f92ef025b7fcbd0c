//! Layout of processes in the picture, with the links that are drawn even without messages, since
//! they show the structure of an algorithm.

use std::collections::BTreeSet;

use serde::Serialize;
use tenure_core::quorum::{Kind, Quorums};
use tenure_core::tree::{Shape, Tree};
use tenure_core::{Card, ProcessId, Topology};

/// Layout of a group according to its algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeLayout {
    form: Form,
    /// Numbers of linked processes; in a tree the parent comes first.
    links: Vec<[u32; 2]>,
    /// Quorum of each process as process numbers, if the algorithm uses quorums.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    quorums: Vec<Vec<u32>>,
}

/// Arrangement of the processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Form {
    /// In a circle.
    Ring,
    /// One in the center, which is the first end of each link.
    Star,
    /// Below their parents.
    Tree,
    /// In rows and columns.
    Grid,
}

impl NodeLayout {
    /// Arranges all processes in a circle with all links, if there are few enough to tell them
    /// apart.
    pub fn joined(size: u32) -> NodeLayout {
        const MAX_LINKED: u32 = 8;
        let among = if size > MAX_LINKED { 0 } else { size };
        let pairs = |one| (one + 1..=among).map(move |other| [one, other]);
        NodeLayout::laid(Form::Ring, (1..=among).flat_map(pairs).collect())
    }

    fn laid(form: Form, links: Vec<[u32; 2]>) -> NodeLayout {
        NodeLayout { form, links, quorums: Vec::new() }
    }

    /// Returns the layout according to the card: a ring of neighbours, all processes around the
    /// coordinator, a tree of this shape, or quorums. Other groups are fully linked.
    pub fn of(
        card: &Card,
        size: u32,
        centre: ProcessId,
        tree: Shape,
        quorums: Option<Kind>,
    ) -> NodeLayout {
        let all = || (0..size).map(ProcessId);
        let next = |at: ProcessId| (at, ProcessId((at.0 + 1) % size.max(1)));
        match card.topology {
            topology if topology.is_ring() => NodeLayout::laid(Form::Ring, links(all().map(next))),
            Topology::Star => {
                let others = all().filter(|at| *at != centre);
                NodeLayout::laid(Form::Star, links(others.map(|at| (centre, at))))
            }
            Topology::Tree => NodeLayout::laid(Form::Tree, below(&Tree::of(tree, size))),
            _ => match quorums.and_then(|kind| Quorums::of(kind, size).ok()) {
                Some(quorums) => NodeLayout::of_quorums(&quorums),
                None => NodeLayout::joined(size),
            },
        }
    }

    /// Arranges quorums: a grid in rows and columns, path quorums as a tree, others in a circle.
    fn of_quorums(quorums: &Quorums) -> NodeLayout {
        let all = || (0..quorums.size()).map(ProcessId);
        let quorum_of = |at: ProcessId| quorums.quorum(at).iter().map(ProcessId::number).collect();
        let peers = |at: ProcessId| quorums.quorum(at).iter().filter(move |to| *to != at);
        let pairs = all().flat_map(|at| peers(at).map(move |to| (at.min(to), at.max(to))));
        let pairs: BTreeSet<(ProcessId, ProcessId)> = pairs.collect();
        let laid = match quorums.kind() {
            Kind::Grid => NodeLayout::laid(Form::Grid, links(pairs)),
            Kind::Tree => {
                NodeLayout::laid(Form::Tree, below(&Tree::of(Shape::Heap, quorums.size())))
            }
            Kind::Majority => NodeLayout::joined(quorums.size()),
            Kind::Pairs | Kind::Plane => NodeLayout::laid(Form::Ring, links(pairs)),
        };
        NodeLayout { quorums: all().map(quorum_of).collect(), ..laid }
    }
}

/// Converts pairs of processes to pairs of numbers.
fn links(pairs: impl IntoIterator<Item = (ProcessId, ProcessId)>) -> Vec<[u32; 2]> {
    pairs.into_iter().map(|(one, other)| [one.number(), other.number()]).collect()
}

/// Returns the link of each process to its parent, the parent first.
fn below(tree: &Tree) -> Vec<[u32; 2]> {
    let all = (0..tree.size()).map(ProcessId);
    links(all.filter_map(|at| tree.parent(at).map(|parent| (parent, at))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_trees_from_parents_and_stars_from_centers() {
        let card = |topology| Card { topology, ..Card::mutex("a-lock", "a lock", "nobody") };
        let of =
            |topology| NodeLayout::of(&card(topology), 4, ProcessId(1), Shape::Heap, None).links;
        assert_eq!(of(Topology::Tree), [[1, 2], [1, 3], [2, 4]]);
        assert_eq!(of(Topology::Star), [[2, 1], [2, 3], [2, 4]]);
        assert_eq!(of(Topology::UnidirectionalRing), [[1, 2], [2, 3], [3, 4], [4, 1]]);
        assert_eq!(of(Topology::Complete).len(), 6);
    }

    #[test]
    fn lays_out_quorums_by_their_construction() {
        let card = Card::mutex("a-lock", "a lock", "nobody");
        let of = |kind, size| NodeLayout::of(&card, size, ProcessId(0), Shape::Star, Some(kind));
        let grid = of(Kind::Grid, 4);
        assert_eq!((grid.form, &grid.quorums[0]), (Form::Grid, &vec![1, 2, 3]));
        assert_eq!(grid.links, [[1, 2], [1, 3], [2, 4], [3, 4]], "rows and columns");
        let tree = of(Kind::Tree, 7);
        assert_eq!((tree.form, &tree.quorums[3]), (Form::Tree, &vec![1, 2, 4]), "a path");
        assert_eq!(tree.links, [[1, 2], [1, 3], [2, 4], [2, 5], [3, 6], [3, 7]]);
        let plane = of(Kind::Plane, 7);
        assert_eq!((plane.form, &plane.quorums[0]), (Form::Ring, &vec![1, 2, 3]));
        assert!(!plane.links.contains(&[1, 6]), "neither asks the other: {:?}", plane.links);
        assert_eq!(of(Kind::Majority, 5).quorums[4], [1, 2, 5]);
        assert_eq!(of(Kind::Pairs, 4), NodeLayout::joined(4), "there are none of four");
    }
}
