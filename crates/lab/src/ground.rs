//! Where processes stand in the picture, and between whom there is a line even when nothing is
//! under way: what an algorithm is about is often seen there.

use std::collections::BTreeSet;

use serde::Serialize;
use tenure_core::quorum::{Kind, Quorums};
use tenure_core::tree::{Shape, Tree};
use tenure_core::{Card, ProcessId, Topology};

/// A group laid out as its algorithm sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ground {
    form: Form,
    /// Numbers of those who are joined; of a tree the parent first.
    links: Vec<[u32; 2]>,
    /// Whom each asks, where there are quorums: by process, the numbers of its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    quorums: Vec<Vec<u32>>,
}

/// How processes stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Form {
    /// All around.
    Ring,
    /// One in the middle, whom each link begins with.
    Star,
    /// Below their parents.
    Tree,
    /// In rows and columns.
    Grid,
}

impl Ground {
    /// All around, and all joined, as long as their links can be told apart.
    pub fn joined(size: u32) -> Ground {
        const FEW: u32 = 8;
        let among = if size > FEW { 0 } else { size };
        let pairs = |one| (one + 1..=among).map(move |other| [one, other]);
        Ground::laid(Form::Ring, (1..=among).flat_map(pairs).collect())
    }

    fn laid(form: Form, links: Vec<[u32; 2]>) -> Ground {
        Ground { form, links, quorums: Vec::new() }
    }

    /// What the card says of who must reach whom: neighbours on a ring, all and the coordinator,
    /// parents and children in a tree of this shape; or who asks whom, where there are quorums.
    /// Of others all are joined.
    pub fn of(
        card: &Card,
        size: u32,
        centre: ProcessId,
        tree: Shape,
        quorums: Option<Kind>,
    ) -> Ground {
        let all = || (0..size).map(ProcessId);
        let next = |at: ProcessId| (at, ProcessId((at.0 + 1) % size.max(1)));
        match card.topology {
            topology if topology.is_ring() => Ground::laid(Form::Ring, links(all().map(next))),
            Topology::Star => {
                let others = all().filter(|at| *at != centre);
                Ground::laid(Form::Star, links(others.map(|at| (centre, at))))
            }
            Topology::Tree => Ground::laid(Form::Tree, below(&Tree::of(tree, size))),
            _ => match quorums.and_then(|kind| Quorums::of(kind, size).ok()) {
                Some(quorums) => Ground::asking(&quorums),
                None => Ground::joined(size),
            },
        }
    }

    /// Where each asks a quorum: rows and columns, a tree in which it is a path, or all around.
    fn asking(quorums: &Quorums) -> Ground {
        let all = || (0..quorums.size()).map(ProcessId);
        let asks = |at: ProcessId| quorums.quorum(at).iter().map(ProcessId::number).collect();
        let whom = |at: ProcessId| quorums.quorum(at).iter().filter(move |to| *to != at);
        let asked = all().flat_map(|at| whom(at).map(move |to| (at.min(to), at.max(to))));
        let asked: BTreeSet<(ProcessId, ProcessId)> = asked.collect();
        let laid = match quorums.kind() {
            Kind::Grid => Ground::laid(Form::Grid, links(asked)),
            Kind::Tree => Ground::laid(Form::Tree, below(&Tree::of(Shape::Heap, quorums.size()))),
            Kind::Majority => Ground::joined(quorums.size()),
            Kind::Pairs | Kind::Plane => Ground::laid(Form::Ring, links(asked)),
        };
        Ground { quorums: all().map(asks).collect(), ..laid }
    }
}

/// Pairs by their numbers.
fn links(pairs: impl IntoIterator<Item = (ProcessId, ProcessId)>) -> Vec<[u32; 2]> {
    pairs.into_iter().map(|(one, other)| [one.number(), other.number()]).collect()
}

/// Everybody but the root, with its parent first.
fn below(tree: &Tree) -> Vec<[u32; 2]> {
    let all = (0..tree.size()).map(ProcessId);
    links(all.filter_map(|at| tree.parent(at).map(|parent| (parent, at))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_links_from_parents_and_a_star_from_its_centre() {
        let card = |topology| Card { topology, ..Card::mutex("a-lock", "a lock", "nobody") };
        let of = |topology| Ground::of(&card(topology), 4, ProcessId(1), Shape::Heap, None).links;
        assert_eq!(of(Topology::Tree), [[1, 2], [1, 3], [2, 4]]);
        assert_eq!(of(Topology::Star), [[2, 1], [2, 3], [2, 4]]);
        assert_eq!(of(Topology::UnidirectionalRing), [[1, 2], [2, 3], [3, 4], [4, 1]]);
        assert_eq!(of(Topology::Complete).len(), 6);
    }

    #[test]
    fn quorums_are_laid_out_as_they_are_built() {
        let card = Card::mutex("a-lock", "a lock", "nobody");
        let of = |kind, size| Ground::of(&card, size, ProcessId(0), Shape::Star, Some(kind));
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
        assert_eq!(of(Kind::Pairs, 4), Ground::joined(4), "there are none of four");
    }
}
