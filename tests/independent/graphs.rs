//! All connected graphs of a few vertices, as lists of neighbours.

use std::collections::BTreeSet;

/// A graph: for each vertex, the list of its neighbours.
pub(crate) type Graph = Vec<Vec<usize>>;

pub(crate) fn connected(size: usize) -> Vec<Graph> {
    (0..1_u32 << pairs(size).len())
        .map(|chosen| graph(size, chosen))
        .filter(|graph| distances(graph, 0).iter().all(|distance| *distance < size))
        .collect()
}

/// Returns one graph of each class of isomorphic connected graphs. There are 1, 1, 2, 6 and 21
/// classes for 1 to 5 vertices.
pub(crate) fn classes(size: usize) -> Vec<Graph> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for graph in connected(size) {
        if seen.contains(&graph) {
            continue;
        }
        found.push(graph.clone());
        for names in permutations(size) {
            let mut renamed = vec![Vec::new(); size];
            for (vertex, neighbours) in graph.iter().enumerate() {
                renamed[names[vertex]] = neighbours.iter().map(|other| names[*other]).collect();
                renamed[names[vertex]].sort_unstable();
            }
            seen.insert(renamed);
        }
    }
    found
}

pub(crate) fn edges(graph: &Graph) -> u64 {
    graph.iter().map(|neighbours| neighbours.len() as u64).sum::<u64>() / 2
}

pub(crate) fn diameter(graph: &Graph) -> usize {
    (0..graph.len()).flat_map(|from| distances(graph, from)).max().unwrap_or(0)
}

/// Returns the distance of each vertex from `from`. If no path reaches a vertex, the distance is
/// the number of vertices.
fn distances(graph: &Graph, from: usize) -> Vec<usize> {
    let mut distances = vec![graph.len(); graph.len()];
    let mut reached = vec![from];
    distances[from] = 0;
    for distance in 1..graph.len() {
        let next = reached.iter().flat_map(|at| graph[*at].clone()).collect::<Vec<_>>();
        reached = next.into_iter().filter(|at| distances[*at] == graph.len()).collect();
        reached.iter().for_each(|at| distances[*at] = distance);
    }
    distances
}

fn pairs(size: usize) -> Vec<(usize, usize)> {
    (0..size).flat_map(|one| (0..one).map(move |other| (other, one))).collect()
}

fn graph(size: usize, chosen: u32) -> Graph {
    let mut graph = vec![Vec::new(); size];
    for (place, (one, other)) in pairs(size).into_iter().enumerate() {
        if chosen & (1 << place) != 0 {
            graph[one].push(other);
            graph[other].push(one);
        }
    }
    graph
}

pub(crate) fn permutations(size: usize) -> Vec<Vec<usize>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let shorter = permutations(size - 1);
    let insert = |names: &Vec<usize>, place: usize| {
        let mut longer = names.clone();
        longer.insert(place, size - 1);
        longer
    };
    shorter.iter().flat_map(|names| (0..size).map(move |place| insert(names, place))).collect()
}

#[test]
fn counts_graphs_as_in_tables() {
    assert_eq!([1, 2, 3, 4, 5].map(|size| connected(size).len()), [1, 1, 4, 38, 728]);
    assert_eq!([1, 2, 3, 4, 5].map(|size| classes(size).len()), [1, 1, 2, 6, 21]);
}
