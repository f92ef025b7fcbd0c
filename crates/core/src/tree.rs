//! Trees over the processes of a group: who is next to whom, and how far apart two are.

use core::fmt;

use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};

use crate::process::ProcessId;

/// A tree that spans a group, rooted at its first process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tree {
    /// By process, the neighbour on the way to the root; the root's own entry is itself.
    parents: Vec<ProcessId>,
    /// By process, how many edges there are to the root.
    depths: Vec<u32>,
}

/// How a tree is shaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Everybody next to the first process.
    Star,
    /// One after the other, the first process at one end.
    Path,
    /// Two below each, as in a binary heap, the first process on top.
    Heap,
}

/// Edges that make no tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoTree(String);

impl fmt::Display for NoTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for NoTree {}

impl Tree {
    /// The tree of a shape over `size` processes.
    ///
    /// # Panics
    ///
    /// When there are no processes.
    pub fn of(shape: Shape, size: u32) -> Self {
        assert!(size > 0, "a tree has at least one process");
        let parent = |process: u32| match shape {
            Shape::Star => 0,
            Shape::Path => process.saturating_sub(1),
            Shape::Heap => process.saturating_sub(1) / 2,
        };
        Tree::rooted((0..size).map(|process| ProcessId(parent(process))).collect())
    }

    /// The tree with these edges over `size` processes.
    ///
    /// # Errors
    ///
    /// When the edges are not one fewer than the processes, name a stranger, or leave somebody
    /// apart from the first process.
    pub fn with_edges(
        size: u32,
        edges: impl IntoIterator<Item = (ProcessId, ProcessId)>,
    ) -> Result<Self, NoTree> {
        let edges: Vec<(ProcessId, ProcessId)> = edges.into_iter().collect();
        if size == 0 || edges.len() + 1 != size as usize {
            let edges = edges.len();
            return Err(NoTree(format!("{edges} edges make no tree of {size} processes")));
        }
        if let Some((one, other)) = edges.iter().find(|edge| edge.0.max(edge.1).0 >= size) {
            return Err(NoTree(format!("{one} – {other} leaves the group P1 to P{size}")));
        }
        let mut parents: Vec<Option<ProcessId>> = vec![None; size as usize];
        parents[0] = Some(ProcessId(0));
        let mut reached = vec![ProcessId(0)];
        while let Some(at) = reached.pop() {
            for (one, other) in &edges {
                let next = if *one == at { *other } else { *one };
                if (*one == at || *other == at) && parents[next.index()].is_none() {
                    parents[next.index()] = Some(at);
                    reached.push(next);
                }
            }
        }
        match parents.iter().position(Option::is_none) {
            Some(apart) => Err(NoTree(format!("{} is apart from P1", ProcessId::at(apart)))),
            None => Ok(Tree::rooted(parents.into_iter().flatten().collect())),
        }
    }

    /// Whoever has no depth yet gets it from the first process above that has one.
    fn rooted(parents: Vec<ProcessId>) -> Self {
        let mut depths: Vec<Option<u32>> = vec![None; parents.len()];
        depths[0] = Some(0);
        let mut above = Vec::new();
        for process in (0..parents.len()).map(ProcessId::at) {
            let mut at = process;
            while depths[at.index()].is_none() {
                above.push(at);
                at = parents[at.index()];
            }
            while let Some(below) = above.pop() {
                depths[below.index()] = depths[at.index()].map(|depth| depth + 1);
                at = below;
            }
        }
        Tree { parents, depths: depths.into_iter().flatten().collect() }
    }

    /// How many processes there are.
    pub fn size(&self) -> u32 {
        ProcessId::at(self.parents.len()).0
    }

    /// The neighbour on the way to the first process; `None` for the first process itself.
    pub fn parent(&self, process: ProcessId) -> Option<ProcessId> {
        let parent = self.parents[process.index()];
        (parent != process).then_some(parent)
    }

    /// How many edges lie between two processes.
    pub fn distance(&self, one: ProcessId, other: ProcessId) -> u32 {
        let (mut one, mut other, mut edges) = (one, other, 0);
        while one != other {
            let lower = if self.depths[one.index()] < self.depths[other.index()] {
                &mut other
            } else {
                &mut one
            };
            *lower = self.parents[lower.index()];
            edges += 1;
        }
        edges
    }

    /// The largest distance of two processes: the papers' *D*.
    pub fn diameter(&self) -> u32 {
        // The longest path turns round somewhere, with the two tallest branches below it.
        let mut heights = vec![0; self.parents.len()];
        let mut longest = 0;
        for process in self.deepest_first() {
            let parent = self.parents[process].index();
            let height = heights[process] + 1;
            longest = longest.max(heights[parent] + height);
            heights[parent] = height.max(heights[parent]);
        }
        longest
    }

    /// The sum of the distances of all ordered pairs: over N², the mean of two processes that are
    /// drawn independently.
    pub fn total_distance(&self) -> u64 {
        // Each edge lies between those below it and all the others.
        let mut below = vec![1_u64; self.parents.len()];
        let size = u64::from(self.size());
        let mut total = 0;
        for process in self.deepest_first() {
            total += 2 * below[process] * (size - below[process]);
            below[self.parents[process].index()] += below[process];
        }
        total
    }

    /// The places of all but the root, everybody before its parent.
    fn deepest_first(&self) -> Vec<usize> {
        let mut places: Vec<usize> = (1..self.parents.len()).collect();
        places.sort_unstable_by_key(|place| core::cmp::Reverse(self.depths[*place]));
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: [Shape; 3] = [Shape::Star, Shape::Path, Shape::Heap];

    fn p(number: u32) -> ProcessId {
        ProcessId(number - 1)
    }

    #[test]
    fn a_star_a_path_and_a_heap_have_their_distances() {
        let (star, path, heap) =
            (Tree::of(Shape::Star, 7), Tree::of(Shape::Path, 7), Tree::of(Shape::Heap, 7));
        assert_eq!((star.distance(p(1), p(7)), star.distance(p(2), p(7))), (1, 2));
        assert_eq!((path.distance(p(1), p(7)), path.distance(p(5), p(3))), (6, 2));
        assert_eq!((heap.distance(p(4), p(7)), heap.distance(p(4), p(5))), (4, 2));
        assert_eq!([star, path, heap].map(|tree| tree.diameter()), [2, 6, 4]);
        assert_eq!(SHAPES.map(|shape| Tree::of(shape, 1).diameter()), [0, 0, 0]);
    }

    #[test]
    fn the_total_distance_is_the_sum_over_all_pairs_and_the_diameter_the_largest() {
        for size in 1..=20 {
            for shape in SHAPES {
                let tree = Tree::of(shape, size);
                let all = || (0..size).map(ProcessId);
                let distances = all().flat_map(|one| all().map(move |other| (one, other)));
                let distances = distances.map(|(one, other)| tree.distance(one, other));
                let distances: Vec<u32> = distances.collect();
                let total: u64 = distances.iter().copied().map(u64::from).sum();
                assert_eq!(tree.total_distance(), total, "{shape:?} {size}");
                assert_eq!(tree.diameter(), distances.into_iter().max().unwrap_or(0));
            }
        }
    }

    #[test]
    fn edges_make_a_tree_rooted_at_the_first_process_or_are_refused() {
        let edges = [(p(3), p(2)), (p(1), p(3)), (p(4), p(3))];
        let tree = Tree::with_edges(4, edges).unwrap();
        assert_eq!(
            (1..=4).map(|i| tree.parent(p(i))).collect::<Vec<_>>(),
            [None, Some(p(3)), Some(p(1)), Some(p(3))]
        );
        assert_eq!((tree.size(), tree.diameter()), (4, 2));
        let refused = |size, edges: &[(ProcessId, ProcessId)]| {
            let refused = Tree::with_edges(size, edges.iter().copied()).unwrap_err();
            format!("{refused}")
        };
        assert!(refused(3, &[(p(1), p(2))]).contains("1 edges make no tree of 3"));
        assert!(refused(2, &[(p(1), p(5))]).contains("P1 – P5 leaves the group"));
        assert!(refused(3, &[(p(2), p(3)), (p(3), p(2))]).contains("P2 is apart"));
        assert!(refused(0, &[]).contains("no tree of 0"));
    }
}
