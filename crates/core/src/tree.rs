//! Trees over the processes of a group: neighbours and distances.

use core::fmt;

use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};

use crate::process::ProcessId;

/// A spanning tree of a group, rooted at its first process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RootedTree {
    /// Parent of each process. The root is stored as its own parent.
    parents: Vec<ProcessId>,
    /// Number of edges between each process and the root.
    depths: Vec<u32>,
}

/// Shape of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TreeShape {
    /// Every process is a neighbour of the first.
    Star,
    /// A path with the first process at one end.
    Path,
    /// A complete binary tree, numbered as in a binary heap. The first process is the root.
    Heap,
}

/// Error: the edges do not form a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeError(String);

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for TreeError {}

impl RootedTree {
    /// Creates the tree of a shape over `size` processes.
    ///
    /// # Panics
    ///
    /// If there are no processes.
    pub fn from_shape(shape: TreeShape, size: u32) -> Self {
        assert!(size > 0, "a tree has at least one process");
        let parent = |process: u32| match shape {
            TreeShape::Star => 0,
            TreeShape::Path => process.saturating_sub(1),
            TreeShape::Heap => process.saturating_sub(1) / 2,
        };
        RootedTree::rooted((0..size).map(|process| ProcessId(parent(process))).collect())
    }

    /// Creates the tree with these edges over `size` processes.
    ///
    /// # Errors
    ///
    /// [`TreeError`] if the number of edges is not `size - 1`, an edge names a process outside the
    /// group, or a process is not connected to the first process.
    pub fn from_edges(
        size: u32,
        edges: impl IntoIterator<Item = (ProcessId, ProcessId)>,
    ) -> Result<Self, TreeError> {
        let edges: Vec<(ProcessId, ProcessId)> = edges.into_iter().collect();
        if size == 0 || edges.len() + 1 != size as usize {
            let edges = edges.len();
            return Err(TreeError(format!("{edges} edges make no tree of {size} processes")));
        }
        if let Some((one, other)) = edges.iter().find(|edge| edge.0.max(edge.1).0 >= size) {
            return Err(TreeError(format!("{one} – {other} leaves the group P1 to P{size}")));
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
            Some(apart) => {
                Err(TreeError(format!("{} is apart from P1", ProcessId::from_index(apart))))
            }
            None => Ok(RootedTree::rooted(parents.into_iter().flatten().collect())),
        }
    }

    /// Creates the tree with these parents. Each chain of parents must end at the first process,
    /// which is its own parent.
    fn rooted(parents: Vec<ProcessId>) -> Self {
        let mut depths: Vec<Option<u32>> = vec![None; parents.len()];
        depths[0] = Some(0);
        let mut above = Vec::new();
        for process in (0..parents.len()).map(ProcessId::from_index) {
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
        RootedTree { parents, depths: depths.into_iter().flatten().collect() }
    }

    /// Returns the number of processes.
    pub fn size(&self) -> u32 {
        ProcessId::from_index(self.parents.len()).0
    }

    /// Returns the parent of a process; `None` for the first process, which is the root.
    pub fn parent(&self, process: ProcessId) -> Option<ProcessId> {
        let parent = self.parents[process.index()];
        (parent != process).then_some(parent)
    }

    /// Returns the number of edges on the path between two processes.
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

    /// Returns the largest distance between two processes: the papers' *D*.
    pub fn diameter(&self) -> u32 {
        // One process on the longest path is nearest to the root. Below this process, the path
        // leads down into its two tallest subtrees.
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

    /// Returns the sum of the distances of all ordered pairs of processes. If this sum is divided
    /// by N², the result is the mean distance of two processes that are drawn independently.
    pub fn total_distance(&self) -> u64 {
        // Counts each edge once for every ordered pair of processes whose path uses the edge. One
        // process of such a pair is below the edge, and the second process is not.
        let mut below = vec![1_u64; self.parents.len()];
        let size = u64::from(self.size());
        let mut total = 0;
        for process in self.deepest_first() {
            total += 2 * below[process] * (size - below[process]);
            below[self.parents[process].index()] += below[process];
        }
        total
    }

    /// Returns the indices of all processes except the root, in an order in which each process
    /// precedes its parent.
    fn deepest_first(&self) -> Vec<usize> {
        let mut places: Vec<usize> = (1..self.parents.len()).collect();
        places.sort_unstable_by_key(|place| core::cmp::Reverse(self.depths[*place]));
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: [TreeShape; 3] = [TreeShape::Star, TreeShape::Path, TreeShape::Heap];

    fn p(number: u32) -> ProcessId {
        ProcessId(number - 1)
    }

    #[test]
    fn shapes_have_expected_distances() {
        let (star, path, heap) = (
            RootedTree::from_shape(TreeShape::Star, 7),
            RootedTree::from_shape(TreeShape::Path, 7),
            RootedTree::from_shape(TreeShape::Heap, 7),
        );
        assert_eq!((star.distance(p(1), p(7)), star.distance(p(2), p(7))), (1, 2));
        assert_eq!((path.distance(p(1), p(7)), path.distance(p(5), p(3))), (6, 2));
        assert_eq!((heap.distance(p(4), p(7)), heap.distance(p(4), p(5))), (4, 2));
        assert_eq!([star, path, heap].map(|tree| tree.diameter()), [2, 6, 4]);
        assert_eq!(SHAPES.map(|shape| RootedTree::from_shape(shape, 1).diameter()), [0, 0, 0]);
    }

    #[test]
    fn total_distance_and_diameter_match_all_pairs() {
        for size in 1..=20 {
            for shape in SHAPES {
                let tree = RootedTree::from_shape(shape, size);
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
    fn builds_tree_from_edges_or_rejects_them() {
        let edges = [(p(3), p(2)), (p(1), p(3)), (p(4), p(3))];
        let tree = RootedTree::from_edges(4, edges).unwrap();
        assert_eq!(
            (1..=4).map(|i| tree.parent(p(i))).collect::<Vec<_>>(),
            [None, Some(p(3)), Some(p(1)), Some(p(3))]
        );
        assert_eq!((tree.size(), tree.diameter()), (4, 2));
        let refused = |size, edges: &[(ProcessId, ProcessId)]| {
            let refused = RootedTree::from_edges(size, edges.iter().copied()).unwrap_err();
            format!("{refused}")
        };
        assert!(refused(3, &[(p(1), p(2))]).contains("1 edges make no tree of 3"));
        assert!(refused(2, &[(p(1), p(5))]).contains("P1 – P5 leaves the group"));
        assert!(refused(3, &[(p(2), p(3)), (p(3), p(2))]).contains("P2 is apart"));
        assert!(refused(0, &[]).contains("no tree of 0"));
    }
}
