//! Graphs of regular shape, and random graphs.

use alloc::vec::Vec;

use crate::process::ProcessId;

use super::{Graph, GraphError};

impl Graph {
    /// Creates a ring: each process is a neighbour of the process with the next number, and the
    /// first process follows the last. A ring of two has one edge.
    pub fn ring(size: u32) -> Self {
        let closing = (size > 2).then(|| (0, size - 1));
        Graph::regular(size, successors(size).chain(closing))
    }

    /// Creates a line (path): each process is a neighbour of the process with the next number.
    pub fn line(size: u32) -> Self {
        Graph::regular(size, successors(size))
    }

    /// Creates a star: each process is a neighbour of the first.
    pub fn star(size: u32) -> Self {
        Graph::regular(size, (1..size).map(|leaf| (0, leaf)))
    }

    /// Creates a complete graph: all pairs are neighbours.
    pub fn complete(size: u32) -> Self {
        Graph::regular(size, pairs(size))
    }

    /// Creates a complete binary tree. The processes are numbered as in a binary heap: the first
    /// process is the root, and each row is filled from the left.
    pub fn binary_tree(size: u32) -> Self {
        Graph::regular(size, (1..size).map(|child| ((child - 1) / 2, child)))
    }

    /// Creates a grid of `rows` times `cols` processes, numbered row by row.
    ///
    /// # Panics
    ///
    /// If the product does not fit 32 bits.
    pub fn grid(rows: u32, cols: u32) -> Self {
        Graph::regular(area(rows, cols), grid_edges(rows, cols))
    }

    /// Creates a torus: a grid in which each row and each column is closed to a ring by an edge
    /// between its ends. A row or column of at most two processes stays a line.
    ///
    /// # Panics
    ///
    /// If the product does not fit 32 bits.
    pub fn torus(rows: u32, cols: u32) -> Self {
        let size = area(rows, cols);
        let across = (0..rows).filter(|_| cols > 2);
        let across = across.map(|row| (row * cols, row * cols + cols - 1));
        let down = (0..cols).filter(|_| rows > 2).map(|col| (col, (rows - 1) * cols + col));
        Graph::regular(size, grid_edges(rows, cols).chain(across).chain(down))
    }

    /// Creates a hypercube: processes are neighbours if their numbers (from 0) differ in one bit.
    ///
    /// # Errors
    ///
    /// [`GraphError::NotAPowerOfTwo`] if `size` is not a power of two.
    pub fn hypercube(size: u32) -> Result<Self, GraphError> {
        if !size.is_power_of_two() {
            return Err(GraphError::NotAPowerOfTwo(size));
        }
        let bits = size.trailing_zeros();
        let edges = (0..size).flat_map(|one| (0..bits).map(move |bit| (one, one ^ (1 << bit))));
        Ok(Graph::regular(size, edges.filter(|(one, other)| one < other)))
    }

    /// Creates a connected random graph. Equal arguments give equal graphs.
    ///
    /// The graph contains a random spanning tree, so it is connected. In a random order of the
    /// processes, each process except the first is joined to a random process before it. Each other
    /// pair of processes is joined with the probability `edge_ppm`, in parts per million. A
    /// probability of 1,000,000 or more yields the complete graph.
    pub fn random_connected(size: u32, edge_ppm: u32, seed: u64) -> Self {
        let mut random = SplitMix64(seed);
        let mut order: Vec<u32> = (0..size).collect();
        let mut edges = Vec::new();
        for place in 0..size {
            let drawn = place + random.below(size - place);
            order.swap(place as usize, drawn as usize);
            if place > 0 {
                let parent = order[random.below(place) as usize];
                let child = order[place as usize];
                edges.push((parent.min(child), parent.max(child)));
            }
        }
        edges.sort_unstable();
        let tree = edges.clone();
        let drawn = pairs(size).filter(|_| random.below(1_000_000) < edge_ppm);
        edges.extend(drawn.filter(|pair| tree.binary_search(pair).is_err()));
        Graph::regular(size, edges)
    }

    /// Returns a copy of the graph with other weights: the numbers from 1 to the number of edges,
    /// in a random order that depends on `seed` alone.
    #[must_use]
    pub fn with_distinct_weights(&self, seed: u64) -> Self {
        let mut random = SplitMix64(seed);
        let edges = u32::try_from(self.edge_count()).expect("a graph has fewer than 2^32 edges");
        let mut weights: Vec<u64> = (1..=u64::from(edges)).collect();
        for place in 0..edges {
            let drawn = place + random.below(edges - place);
            weights.swap(place as usize, drawn as usize);
        }
        let edges = self.edges().zip(weights).map(|((one, other, _), weight)| (one, other, weight));
        Graph::new(self.vertex_count(), edges).expect("the edges are those of a graph")
    }

    /// Creates a graph with unit weights. Panics if the edges are not those of a graph.
    fn regular(size: u32, edges: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let edges = edges.into_iter();
        let edges = edges.map(|(one, other)| (ProcessId(one), ProcessId(other), 1));
        Graph::new(size, edges).expect("a regular shape has no edge twice")
    }
}

/// Returns the number of rows and the number of columns of a grid with `size` processes. The grid
/// is as close to a square as possible, and has no more rows than columns. If `size` is prime, the
/// grid has one row. If `size` is 0, returns 1 and 0.
pub fn near_square_factors(size: u32) -> (u32, u32) {
    let rows = (1..=size.isqrt()).rev().find(|rows| size.is_multiple_of(*rows)).unwrap_or(1);
    (rows, size / rows)
}

/// Returns the pairs of processes with consecutive numbers in a group of `size`.
fn successors(size: u32) -> impl Iterator<Item = (u32, u32)> {
    (1..size).map(|next| (next - 1, next))
}

/// Returns all pairs of processes in ascending order. The process with the smaller number comes
/// first in each pair.
fn pairs(size: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..size).flat_map(move |one| (one + 1..size).map(move |other| (one, other)))
}

/// Returns the number of vertices of a grid.
///
/// # Panics
///
/// If the number does not fit 32 bits.
fn area(rows: u32, cols: u32) -> u32 {
    rows.checked_mul(cols).expect("a group has fewer than 2^32 processes")
}

fn grid_edges(rows: u32, cols: u32) -> impl Iterator<Item = (u32, u32)> {
    let cells = (0..rows).flat_map(move |row| (0..cols).map(move |col| (row, col)));
    cells.flat_map(move |(row, col)| {
        let at = row * cols + col;
        let right = (col + 1 < cols).then_some((at, at + 1));
        let below = (row + 1 < rows).then_some((at, at + cols));
        [right, below].into_iter().flatten()
    })
}

/// State of the random number generator SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a random number below `bound`, which is at least 1. The relative error of the
    /// probability of each number is below 2⁻³².
    fn below(&mut self, bound: u32) -> u32 {
        let product = u128::from(self.next()) * u128::from(bound);
        u32::try_from(product >> 64).expect("the product is below bound · 2^64")
    }
}
