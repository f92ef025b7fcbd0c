//! Tests of graphs: shapes, shortest paths, random graphs and trees.

use alloc::string::ToString;

use super::*;
use crate::tree::TreeShape;

fn p(number: u32) -> ProcessId {
    ProcessId(number - 1)
}

/// Returns the smallest and the largest number of neighbours that a vertex of `graph` has.
fn degrees(graph: &Graph) -> (usize, usize) {
    let all = (0..graph.vertex_count()).map(|vertex| graph.degree(ProcessId(vertex)));
    (all.clone().min().unwrap_or(0), all.max().unwrap_or(0))
}

/// Returns the distance of each pair of vertices, by the algorithm of Floyd and Warshall.
fn all_pairs(graph: &Graph) -> Vec<Vec<Option<u64>>> {
    let size = graph.vertex_count() as usize;
    let mut distances = vec![vec![None; size]; size];
    for (one, other, weight) in graph.edges() {
        distances[one.index()][other.index()] = Some(weight);
        distances[other.index()][one.index()] = Some(weight);
    }
    for (at, row) in distances.iter_mut().enumerate() {
        row[at] = Some(0);
    }
    for via in 0..size {
        for one in 0..size {
            for other in 0..size {
                let (Some(to), Some(from)) = (distances[one][via], distances[via][other]) else {
                    continue;
                };
                let known = &mut distances[one][other];
                if known.is_none_or(|known| to + from < known) {
                    *known = Some(to + from);
                }
            }
        }
    }
    distances
}

#[test]
fn shapes_have_expected_degrees_edges_and_diameters() {
    let cases = [
        ("ring", Graph::ring(7), (2, 2), 7, 3),
        ("line", Graph::line(7), (1, 2), 6, 6),
        ("star", Graph::star(7), (1, 6), 6, 2),
        ("complete", Graph::complete(7), (6, 6), 21, 1),
        ("binary tree", Graph::binary_tree(7), (1, 3), 6, 4),
        ("grid", Graph::grid(3, 4), (2, 4), 17, 5),
        ("torus", Graph::torus(3, 4), (4, 4), 24, 3),
        ("hypercube", Graph::hypercube(16).unwrap(), (4, 4), 32, 4),
    ];
    for (name, graph, expected, edges, diameter) in cases {
        assert_eq!(degrees(&graph), expected, "{name}");
        assert_eq!(graph.edge_count(), edges, "{name}");
        assert_eq!(graph.edges().count(), edges, "{name}");
        assert_eq!(graph.hop_diameter(), Some(diameter), "{name}");
        assert!(graph.has_unit_weights() && graph.is_connected(), "{name}");
        assert_eq!(graph.is_tree(), edges + 1 == graph.vertex_count() as usize, "{name}");
    }
}

#[test]
fn small_shapes_have_no_duplicate_edges() {
    for size in 1..=4 {
        let ring = Graph::ring(size).edge_count();
        assert_eq!(ring, if size > 2 { size as usize } else { size as usize - 1 });
    }
    assert_eq!(Graph::torus(2, 2), Graph::ring(4).relabelled(&[p(1), p(2), p(4), p(3)]));
    assert_eq!(Graph::torus(1, 5), Graph::ring(5));
    assert_eq!(Graph::grid(1, 5), Graph::line(5));
    assert_eq!(Graph::hypercube(1).unwrap(), Graph::line(1));
    assert_eq!(Graph::hypercube(6), Err(GraphError::NotAPowerOfTwo(6)));
    assert_eq!(
        [1, 2, 7, 12, 16, 30].map(near_square_factors),
        [(1, 1), (1, 2), (1, 7), (3, 4), (4, 4), (5, 6)]
    );
}

impl Graph {
    /// Returns the same graph with renamed vertices: `names[0]` is the new name of the first
    /// vertex, and so on.
    fn relabelled(&self, names: &[ProcessId]) -> Self {
        let edges = self.edges();
        let edges =
            edges.map(|(one, other, weight)| (names[one.index()], names[other.index()], weight));
        Graph::new(self.vertex_count(), edges).unwrap()
    }
}

#[test]
fn rejects_edges_that_form_no_graph() {
    let refused = |edges: &[(u32, u32, u64)]| {
        let edges = edges.iter().map(|(one, other, weight)| (p(*one), p(*other), *weight));
        Graph::new(3, edges).unwrap_err().to_string()
    };
    assert_eq!(refused(&[(2, 2, 1)]), "edge P2 – P2 joins a vertex with itself");
    assert_eq!(refused(&[(1, 2, 1), (2, 1, 5)]), "edge P2 – P1 occurs twice");
    assert_eq!(refused(&[(1, 4, 1)]), "vertex P4 is outside of the group P1 to P3");
    assert_eq!(refused(&[(1, 3, 0)]), "edge P1 – P3 has the weight 0: expected at least 1");
}

#[test]
fn disconnected_graph_has_no_diameter() {
    let graph = Graph::new(4, [(p(1), p(2), 3), (p(4), p(3), 1)]).unwrap();
    assert!(!graph.is_connected() && !graph.is_tree());
    assert_eq!((graph.hop_diameter(), graph.hop_distance(p(1), p(3))), (None, None));
    assert_eq!((graph.min_hop_path(p(1), p(3)), graph.lightest_path(p(1), p(3))), (None, None));
    assert_eq!((graph.weight(p(2), p(1)), graph.weight(p(1), p(9))), (Some(3), None));
    assert!(graph.to_tree().is_err());
    assert_eq!(alloc::format!("{graph:?}"), "Graph of 4 [P1–P2:3 P3–P4]");
}

#[test]
fn paths_are_shortest_and_prefer_small_neighbours() {
    let grid = Graph::grid(3, 3);
    assert_eq!(grid.min_hop_path(p(1), p(9)).unwrap(), [p(1), p(2), p(3), p(6), p(9)]);
    assert_eq!(grid.min_hop_path(p(9), p(1)).unwrap(), [p(9), p(6), p(3), p(2), p(1)]);
    assert_eq!(grid.min_hop_path(p(5), p(5)).unwrap(), [p(5)]);
    let detour = Graph::new(3, [(p(1), p(3), 9), (p(1), p(2), 2), (p(2), p(3), 2)]).unwrap();
    assert_eq!(detour.min_hop_path(p(1), p(3)).unwrap(), [p(1), p(3)]);
    assert_eq!(detour.lightest_path(p(1), p(3)).unwrap(), [p(1), p(2), p(3)]);
}

#[test]
fn paths_agree_with_all_pairs_algorithm() {
    for seed in 0..20 {
        let graph = Graph::random_connected(9, 200_000, seed);
        let weighted = graph.with_distinct_weights(seed);
        let (hops, costs) = (all_pairs(&graph), all_pairs(&weighted));
        for one in (0..9).map(ProcessId) {
            for other in (0..9).map(ProcessId) {
                let path = graph.min_hop_path(one, other).unwrap();
                assert_eq!(Some(path.len() as u64 - 1), hops[one.index()][other.index()]);
                let cheapest = weighted.lightest_path(one, other).unwrap();
                let weights = cheapest.windows(2).map(|ends| weighted.weight(ends[0], ends[1]));
                let cost: Option<u64> = weights.sum();
                assert_eq!(cost, costs[one.index()][other.index()]);
            }
        }
    }
}

#[test]
fn random_graphs_are_connected_and_depend_on_seed() {
    for seed in 0..200 {
        assert!(Graph::random_connected(8, 0, seed).is_tree());
        assert!(Graph::random_connected(8, 300_000, seed).is_connected());
    }
    assert_eq!(Graph::random_connected(8, 300_000, 7), Graph::random_connected(8, 300_000, 7));
    assert_ne!(Graph::random_connected(8, 300_000, 7), Graph::random_connected(8, 300_000, 8));
    assert_eq!(Graph::random_connected(6, 1_000_000, 3), Graph::complete(6));
    assert_eq!(Graph::random_connected(1, 500_000, 3), Graph::line(1));
    let edges: usize =
        (0..400).map(|seed| Graph::random_connected(8, 500_000, seed).edge_count()).sum();
    // A graph has 17.5 edges on average: the 7 edges of its tree, and half of the other 21 pairs.
    assert!((6_800..7_200).contains(&edges), "{edges} edges instead of about 7,000");
}

#[test]
fn distinct_weights_are_a_permutation() {
    let graph = Graph::complete(5).with_distinct_weights(4);
    let mut weights: Vec<u64> = graph.edges().map(|(_, _, weight)| weight).collect();
    assert_ne!(weights, (1..=10).collect::<Vec<_>>());
    weights.sort_unstable();
    assert_eq!(weights, (1..=10).collect::<Vec<_>>());
}

#[test]
fn trees_convert_both_ways() {
    for shape in [TreeShape::Star, TreeShape::Path, TreeShape::Heap] {
        let tree = RootedTree::from_shape(shape, 7);
        assert_eq!(Graph::from(&tree).to_tree().unwrap(), tree);
    }
    assert_eq!(Graph::from(&RootedTree::from_shape(TreeShape::Heap, 7)), Graph::binary_tree(7));
}
