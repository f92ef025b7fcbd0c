//! Where processes stand in the picture, and between whom there is a line even when nothing is
//! under way: what an algorithm is about is often seen there.

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
        Ground { form: Form::Ring, links: (1..=among).flat_map(pairs).collect() }
    }

    /// What the card says of who must reach whom: neighbours on a ring, all and the coordinator,
    /// parents and children in a tree of this shape; or who asks whom, where there are quorums of
    /// rows and columns. Of others all are joined.
    pub fn of(card: &Card, size: u32, centre: ProcessId, tree: Shape, grid: bool) -> Ground {
        let all = || (0..size).map(ProcessId);
        let links = |pairs: &mut dyn Iterator<Item = (ProcessId, ProcessId)>| -> Vec<[u32; 2]> {
            pairs.map(|(one, other)| [one.number(), other.number()]).collect()
        };
        let next = |at: ProcessId| (at, ProcessId((at.0 + 1) % size.max(1)));
        match card.topology {
            topology if topology.is_ring() => {
                Ground { form: Form::Ring, links: links(&mut all().map(next)) }
            }
            Topology::Star => {
                let others = all().filter(|at| *at != centre);
                Ground { form: Form::Star, links: links(&mut others.map(|at| (centre, at))) }
            }
            Topology::Tree => {
                let tree = Tree::of(tree, size);
                let parent = |at| tree.parent(at).map(|parent| (parent, at));
                Ground { form: Form::Tree, links: links(&mut all().filter_map(parent)) }
            }
            _ if grid => {
                let quorums = Quorums::of(Kind::Grid, size).ok();
                let ask = |at| {
                    let quorum = quorums.as_ref().map(|quorums| quorums.quorum(at).iter());
                    quorum.into_iter().flatten().filter(move |to| at < *to).map(move |to| (at, to))
                };
                Ground { form: Form::Grid, links: links(&mut all().flat_map(ask)) }
            }
            _ => Ground::joined(size),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_links_from_parents_and_a_star_from_its_centre() {
        let card = |topology| Card { topology, ..Card::mutex("a-lock", "a lock", "nobody") };
        let of = |topology| Ground::of(&card(topology), 4, ProcessId(1), Shape::Heap, false).links;
        assert_eq!(of(Topology::Tree), [[1, 2], [1, 3], [2, 4]]);
        assert_eq!(of(Topology::Star), [[2, 1], [2, 3], [2, 4]]);
        assert_eq!(of(Topology::UnidirectionalRing), [[1, 2], [2, 3], [3, 4], [4, 1]]);
        assert_eq!(of(Topology::Complete).len(), 6);
        let grid = Ground::of(&card(Topology::Complete), 4, ProcessId(0), Shape::Star, true);
        assert_eq!(grid.links, [[1, 2], [1, 3], [2, 4], [3, 4]], "rows and columns");
    }
}
