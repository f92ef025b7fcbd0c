//! Positions of the vertices of a graph.

use tenure_core::{Graph, ProcessId};

/// Coordinates x and y of a position in the unit square; y grows downwards.
pub(crate) type Point = [f64; 2];

/// Maximum number of vertices of a graph that [`by_distance`] arranges. The running time of that
/// function grows at least with the square of the number of vertices.
const MAX_BY_DISTANCE: u32 = 150;

/// Number of iterations of [`by_distance`]. Further iterations would hardly change the drawing.
const ITERATIONS: u32 = 150;

/// Positions of the vertices of a graph in a drawing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum GraphArrangement {
    /// All vertices in a circle.
    Circle,
    /// The given vertex is in the centre, and all other vertices are around it.
    Star(ProcessId),
    /// Each vertex below its parent.
    Tree,
    /// Each vertex at a position of its own. The list contains the positions in the order of the
    /// vertices.
    Placed(Vec<Point>),
}

/// Returns the arrangement of a graph. A ring, a complete graph, a line, a star, a tree, a grid, a
/// torus or a cube gets the shape in which it is usually drawn. Any other graph is arranged by the
/// distances between its vertices or, if it has more than [`MAX_BY_DISTANCE`] vertices, in a
/// circle. The result depends on the graph alone.
pub(crate) fn arrangement(graph: &Graph) -> GraphArrangement {
    let size = graph.vertex_count();
    if size < 3 || is_same(graph, &Graph::ring(size)) || is_same(graph, &Graph::complete(size)) {
        return GraphArrangement::Circle;
    }
    if is_same(graph, &Graph::line(size)) {
        let step = 1.0 / f64::from(size - 1);
        return GraphArrangement::Placed((0..size).map(|at| [f64::from(at) * step, 0.5]).collect());
    }
    let hub = (0..size).map(ProcessId).find(|at| graph.degree(*at) + 1 == size as usize);
    if graph.is_tree() {
        return hub.map_or(GraphArrangement::Tree, GraphArrangement::Star);
    }
    if let Some(points) = grid(graph) {
        return GraphArrangement::Placed(points);
    }
    if size > MAX_BY_DISTANCE {
        GraphArrangement::Circle
    } else {
        GraphArrangement::Placed(by_distance(graph))
    }
}

/// Returns true if two graphs have the same edges, whatever their weights.
fn is_same(one: &Graph, other: &Graph) -> bool {
    one.edge_count() == other.edge_count() && one.edges().all(|(a, b, _)| other.has_edge(a, b))
}

/// Returns the positions of the vertices of a grid, a torus or a three-dimensional cube. Returns
/// `None` for other graphs.
fn grid(graph: &Graph) -> Option<Vec<Point>> {
    let size = graph.vertex_count();
    if size == 8 && Graph::hypercube(8).is_ok_and(|cube| is_same(graph, &cube)) {
        // The rear face is smaller and inside of the front face.
        let corner = |at: u32| {
            let (x, y) = (f64::from(at & 1), f64::from(at >> 1 & 1));
            let depth = if at & 4 == 0 { 1.0 } else { 0.45 };
            [0.5 + (x - 0.5) * depth, 0.5 + (y - 0.5) * depth]
        };
        return Some((0..8).map(corner).collect());
    }
    let sides = (2..=size / 2).filter(|rows| size.is_multiple_of(*rows));
    sides.map(|rows| (rows, size / rows)).find_map(|(rows, cols)| {
        let skew = if is_same(graph, &Graph::grid(rows, cols)) {
            0.0
        } else if is_same(graph, &Graph::torus(rows, cols)) {
            // The torus is skewed, because the edges that close a row would otherwise cover the
            // other edges.
            0.45
        } else {
            return None;
        };
        let place = |at: u32| {
            let (row, col) = (f64::from(at / cols), f64::from(at % cols));
            let (width, height) = (f64::from(cols - 1), f64::from(rows - 1));
            // Inner columns hang lower and inner rows stand further right.
            let bow = |part: f64, whole: f64| skew * 4.0 * part * (whole - part) / (whole * whole);
            [col + bow(row, height), row + bow(col, width)]
        };
        Some(fit((0..size).map(place).collect()))
    })
}

/// Returns positions of the vertices of a graph. The distances between the positions approximate
/// the distances in the graph, in edges. The method is stress majorization (Gansner, Koren and
/// North, 2004). It starts with a circle and moves one vertex at a time.
fn by_distance(graph: &Graph) -> Vec<Point> {
    let size = graph.vertex_count();
    let distances: Vec<Vec<Option<u32>>> =
        (0..size).map(|source| graph.distances_from(ProcessId(source))).collect();
    let turn = std::f64::consts::TAU / f64::from(size);
    let radius = f64::from(size) / std::f64::consts::TAU;
    let on_circle = |at: u32| {
        let angle = f64::from(at) * turn;
        [radius * angle.sin(), -radius * angle.cos()]
    };
    let mut points: Vec<Point> = (0..size).map(on_circle).collect();
    for _ in 0..ITERATIONS {
        for at in 0..points.len() {
            points[at] = best_position(at, &points, &distances[at]);
        }
    }
    fit(points)
}

/// Returns the best position of the vertex `at` if all other vertices stay at their positions in
/// `points`. At the best position, the distances to the other vertices are as close as possible to
/// `distances`. The distance to an unreachable vertex is `None` and has no influence.
fn best_position(at: usize, points: &[Point], distances: &[Option<u32>]) -> Point {
    let (mut sum, mut total) = ([0.0, 0.0], 0.0);
    for (other, distance) in distances.iter().enumerate() {
        let Some(wanted) = distance.filter(|_| other != at).map(f64::from) else { continue };
        let [dx, dy] = [points[at][0] - points[other][0], points[at][1] - points[other][1]];
        let actual = dx.hypot(dy).max(1e-9);
        let weight = 1.0 / (wanted * wanted);
        sum[0] += weight * (points[other][0] + wanted * dx / actual);
        sum[1] += weight * (points[other][1] + wanted * dy / actual);
        total += weight;
    }
    if total == 0.0 { points[at] } else { [sum[0] / total, sum[1] / total] }
}

/// Scales positions to the unit square and rounds them, so that the result is the same on all
/// machines.
fn fit(points: Vec<Point>) -> Vec<Point> {
    let bounds = |axis: usize| {
        let values = points.iter().map(|point| point[axis]);
        let low = values.clone().fold(f64::INFINITY, f64::min);
        (low, values.fold(f64::NEG_INFINITY, f64::max) - low)
    };
    let bounds = [bounds(0), bounds(1)];
    let scaled = |point: &Point, axis: usize| {
        let (low, extent) = bounds[axis];
        let part = if extent > 1e-9 { (point[axis] - low) / extent } else { 0.5 };
        (part * 1000.0).round() / 1000.0
    };
    points.iter().map(|point| [scaled(point, 0), scaled(point, 1)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(graph: &Graph) -> Vec<Point> {
        match arrangement(graph) {
            GraphArrangement::Placed(points) => points,
            other => panic!("{other:?} instead of positions"),
        }
    }

    #[test]
    fn shapes_are_drawn_as_usual() {
        assert_eq!(arrangement(&Graph::ring(6)), GraphArrangement::Circle);
        assert_eq!(arrangement(&Graph::complete(6)), GraphArrangement::Circle);
        assert_eq!(arrangement(&Graph::star(6)), GraphArrangement::Star(ProcessId(0)));
        assert_eq!(arrangement(&Graph::binary_tree(6)), GraphArrangement::Tree);
        assert_eq!(placed(&Graph::line(3)), [[0.0, 0.5], [0.5, 0.5], [1.0, 0.5]]);
        let grid = placed(&Graph::grid(2, 3).with_distinct_weights(1));
        assert_eq!(grid, [[0.0, 0.0], [0.5, 0.0], [1.0, 0.0], [0.0, 1.0], [0.5, 1.0], [1.0, 1.0]]);
        assert_eq!(placed(&Graph::hypercube(8).unwrap())[..2], [[0.0, 0.0], [1.0, 0.0]]);
    }

    #[test]
    fn positions_are_apart_and_repeatable() {
        let graphs = [
            Graph::torus(3, 4),
            Graph::hypercube(16).unwrap(),
            Graph::random_connected(12, 200_000, 5),
        ];
        for graph in graphs {
            let points = placed(&graph);
            assert_eq!(points, placed(&graph), "the same graph has the same drawing");
            for (at, one) in points.iter().enumerate() {
                assert!(one.iter().all(|part| (0.0..=1.0).contains(part)), "{one:?}");
                for other in &points[at + 1..] {
                    let apart = (one[0] - other[0]).hypot(one[1] - other[1]);
                    assert!(apart > 0.05, "{one:?} and {other:?} of {graph:?}");
                }
            }
        }
    }

    #[test]
    fn neighbours_are_nearer_than_others() {
        let graph = Graph::random_connected(14, 100_000, 3);
        let points = placed(&graph);
        let mean = |is_edge: bool| {
            let pairs = (0..14).flat_map(|one| (one + 1..14).map(move |other| (one, other)));
            let pairs = pairs.filter(|(one, other)| {
                graph.has_edge(ProcessId::from_index(*one), ProcessId::from_index(*other))
                    == is_edge
            });
            let lengths = pairs.map(|(one, other): (usize, usize)| {
                (points[one][0] - points[other][0]).hypot(points[one][1] - points[other][1])
            });
            let lengths: Vec<f64> = lengths.collect();
            lengths.iter().sum::<f64>() / lengths.len() as f64
        };
        assert!(mean(true) < 0.7 * mean(false), "{} and {}", mean(true), mean(false));
    }
}
