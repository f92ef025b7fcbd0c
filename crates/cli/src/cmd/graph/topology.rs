//! The value of `--topology`: the name of a shape, edges, or a file.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use tenure_core::Graph;
use tenure_core::graph::near_square_factors;

use super::builder::NamedGraph;
use super::{edge_list, file};
use crate::cmd::program::quote_shell_word;

/// Values of `--topology` that a shell offers for completion.
pub(crate) const COMPLETION_NAMES: &[&str] = &[
    "ring",
    "line",
    "star",
    "complete",
    "binary-tree",
    "grid",
    "torus",
    "hypercube",
    "random:0.3",
];

const EXPECTED: &str = "expected ring, line, star, complete, binary-tree, grid, grid:3x4, torus, \
                        torus:3x4, hypercube, random:0.3, random:0.3:SEED, edges such as \
                        1-2,2-3, or a file";

/// Upper bound on the number of vertices of a complete or random graph. The number of edges grows
/// with the square of the number of vertices.
const MAX_DENSE: u32 = 5_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TopologyOption {
    text: String,
    source: Source,
    /// Seed from which distinct weights of the edges are drawn. `None` if the graph keeps its own
    /// weights.
    weights: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    Ring,
    Line,
    Star,
    Complete,
    BinaryTree,
    Grid(Option<(u32, u32)>),
    Torus(Option<(u32, u32)>),
    Hypercube,
    Random { edge_ppm: u32, seed: u64 },
    Edges(NamedGraph),
    File(NamedGraph),
}

impl TopologyOption {
    /// Returns the number of processes that the value determines: the size of a grid or a torus
    /// with dimensions, of a list of edges, or of the graph in a file. Returns `None` for other
    /// shapes, which exist for many numbers of processes.
    pub(crate) fn fixed_size(&self) -> Option<u32> {
        match &self.source {
            Source::Grid(Some((rows, cols))) | Source::Torus(Some((rows, cols))) => {
                Some(rows.saturating_mul(*cols))
            }
            Source::Edges(named) | Source::File(named) => Some(named.size()),
            _ => None,
        }
    }

    /// Returns the connected graph with `size` vertices. Returns an error message if the value of
    /// the option does not permit this number of vertices.
    pub(crate) fn graph(&self, size: u32) -> Result<Arc<Graph>, String> {
        let text = &self.text;
        if let Some(own) = self.fixed_size().filter(|own| *own != size) {
            return Err(format!("--topology {text} has {own} vertices, but the group has {size}"));
        }
        let is_dense = matches!(self.source, Source::Complete | Source::Random { .. });
        if is_dense && size > MAX_DENSE {
            return Err(format!("--topology {text} has at most {MAX_DENSE} vertices, not {size}"));
        }
        let graph = match &self.source {
            Source::Ring => Graph::ring(size),
            Source::Line => Graph::line(size),
            Source::Star => Graph::star(size),
            Source::Complete => Graph::complete(size),
            Source::BinaryTree => Graph::binary_tree(size),
            Source::Grid(sides) => {
                let (rows, cols) = sides.unwrap_or_else(|| near_square_factors(size));
                Graph::grid(rows, cols)
            }
            Source::Torus(sides) => {
                let (rows, cols) = sides.unwrap_or_else(|| near_square_factors(size));
                Graph::torus(rows, cols)
            }
            Source::Hypercube => {
                Graph::hypercube(size).map_err(|error| format!("--topology {text}: {error}"))?
            }
            Source::Random { edge_ppm, seed } => Graph::random_connected(size, *edge_ppm, *seed),
            Source::Edges(named) | Source::File(named) => return Ok(self.weighted(&named.graph)),
        };
        Ok(self.weighted(&Arc::new(graph)))
    }

    /// Returns the graph. If the value ends in `+weights`, the edges of the result have distinct
    /// weights that are drawn from the seed.
    fn weighted(&self, graph: &Arc<Graph>) -> Arc<Graph> {
        match self.weights {
            Some(seed) => Arc::new(graph.with_distinct_weights(seed)),
            None => Arc::clone(graph),
        }
    }

    /// Returns the names that the vertices have in the file of the graph. Returns an empty list if
    /// there is no file, or if the names are the numbers of the processes.
    pub(crate) fn vertex_names(&self) -> &[String] {
        match &self.source {
            Source::Edges(named) | Source::File(named) => named.vertex_names(),
            _ => &[],
        }
    }

    pub(crate) fn shell_word(&self) -> String {
        quote_shell_word(&self.text)
    }

    /// Returns this value, with the graph itself in place of the name of a file. A trace contains
    /// the result, and thus does not depend on the file.
    pub(crate) fn inlined(&self) -> String {
        match &self.source {
            Source::File(named) => self.weighted(&named.graph).to_string(),
            _ => self.text.clone(),
        }
    }
}

impl FromStr for TopologyOption {
    type Err = String;

    /// Parses a value. If the value is the path of a file, reads the file.
    fn from_str(text: &str) -> Result<Self, String> {
        let option =
            |source, weights| Ok(TopologyOption { text: text.to_owned(), source, weights });
        // `+weights` may also be a part of a file name. The code below handles this case.
        let (name, suffix) = text.split_once("+weights").unwrap_or((text, ""));
        let has_weights = name.len() < text.len();
        let weights = match suffix.strip_prefix(':') {
            Some(seed) => seed.parse().ok(),
            None => Some(1).filter(|_| suffix.is_empty()),
        };
        if has_weights && let (Some(seed), Some(source)) = (weights, shape(name).transpose()?) {
            return option(source, Some(seed));
        }
        if let Some(source) = shape(text).transpose()? {
            return option(source, None);
        }
        if file::is_path(text) && !has_weights || Path::new(text).exists() {
            let named = file::read_graph(Path::new(text))?;
            named.check_connected()?;
            return option(Source::File(named), None);
        }
        if has_weights && file::is_path(name) && weights.is_some() {
            let named = file::read_graph(Path::new(name))?;
            named.check_connected()?;
            return option(Source::File(named), weights);
        }
        Err(EXPECTED.to_owned())
    }
}

/// Parses a text that is the name of a shape or a list of edges. Returns `None` if the text is
/// neither. The text may then be the name of a file.
fn shape(text: &str) -> Option<Result<Source, String>> {
    let simple = match text {
        "ring" => Some(Source::Ring),
        "line" | "path" => Some(Source::Line),
        "star" => Some(Source::Star),
        "complete" => Some(Source::Complete),
        "binary-tree" => Some(Source::BinaryTree),
        "grid" => Some(Source::Grid(None)),
        "torus" => Some(Source::Torus(None)),
        "hypercube" => Some(Source::Hypercube),
        _ => None,
    };
    if let Some(simple) = simple {
        return Some(Ok(simple));
    }
    if let Some(edges) = edge_list::parse_inline_edges(text) {
        let connected = |named: NamedGraph| named.check_connected().map(|()| Source::Edges(named));
        return Some(edges.and_then(connected));
    }
    match text.split_once(':')? {
        ("grid", sides) => Some(parse_sides(sides).map(|sides| Source::Grid(Some(sides)))),
        ("torus", sides) => Some(parse_sides(sides).map(|sides| Source::Torus(Some(sides)))),
        ("random", density) => Some(parse_random(density)),
        _ => None,
    }
}

fn parse_sides(text: &str) -> Result<(u32, u32), String> {
    let sides = text.split_once('x').and_then(|(rows, cols)| {
        let sides: (u32, u32) = (rows.parse().ok()?, cols.parse().ok()?);
        (sides.0.checked_mul(sides.1)? > 0).then_some(sides)
    });
    sides.ok_or_else(|| format!("expected rows and columns such as 3x4, found '{text}'"))
}

/// Parses the probability and the seed of a random graph, such as `0.3` or `0.3:7`.
fn parse_random(text: &str) -> Result<Source, String> {
    let (density, seed) = text.split_once(':').unwrap_or((text, "1"));
    let density = density.parse().ok().filter(|density| (0.0..=1.0).contains(density));
    let density: f64 = density.ok_or_else(|| {
        format!("expected a probability from 0 to 1 after random:, found '{text}'")
    })?;
    let seed = seed.parse().map_err(|_| format!("expected a seed, found '{seed}'"))?;
    let edge_ppm = (density * 1e6).round() as u32;
    Ok(Source::Random { edge_ppm, seed })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(text: &str, size: u32) -> Graph {
        let option: TopologyOption = text.parse().unwrap();
        Graph::clone(&option.graph(size).unwrap())
    }

    fn error(text: &str, size: u32) -> String {
        let option = text.parse::<TopologyOption>();
        option.and_then(|it| it.graph(size)).expect_err("an invalid topology")
    }

    #[test]
    fn names_denote_shapes() {
        assert_eq!(graph("ring", 5), Graph::ring(5));
        assert_eq!(graph("line", 5), Graph::line(5));
        assert_eq!(graph("star", 5), Graph::star(5));
        assert_eq!(graph("complete", 5), Graph::complete(5));
        assert_eq!(graph("binary-tree", 5), Graph::binary_tree(5));
        assert_eq!(graph("grid", 6), Graph::grid(2, 3));
        assert_eq!(graph("grid:3x2", 6), Graph::grid(3, 2));
        assert_eq!(graph("torus:3x3", 9), Graph::torus(3, 3));
        assert_eq!(graph("hypercube", 8), Graph::hypercube(8).unwrap());
        assert_eq!(graph("random:0.3", 8), Graph::random_connected(8, 300_000, 1));
        assert_eq!(graph("random:0.3:9", 8), Graph::random_connected(8, 300_000, 9));
        assert_eq!(
            graph("1-2,2-3:7", 3).weight(tenure_core::ProcessId(1), tenure_core::ProcessId(2)),
            Some(7)
        );
        assert_eq!(graph("ring+weights:4", 5), Graph::ring(5).with_distinct_weights(4));
        assert_eq!("grid:3x4".parse::<TopologyOption>().unwrap().fixed_size(), Some(12));
        for name in COMPLETION_NAMES {
            name.parse::<TopologyOption>().unwrap().graph(8).unwrap();
        }
    }

    #[test]
    fn rejects_invalid_topologies() {
        assert!(error("round", 5).starts_with("expected ring, line"));
        assert!(error("hypercube", 6).contains("expected a power of two"));
        assert_eq!(
            error("grid:3x4", 6),
            "--topology grid:3x4 has 12 vertices, but the group has 6"
        );
        assert!(error("grid:3", 6).contains("found '3'"));
        assert!(error("grid:0x4", 6).contains("found '0x4'"));
        assert!(error("random:2", 6).contains("from 0 to 1"));
        assert!(error("random:0.2:x", 6).contains("expected a seed"));
        assert!(error("1-2,3-4", 4).contains("no path joins P1 and P3"));
        assert!(error("1-2,2-1", 2).contains("occurs twice"));
        assert!(error("1-3", 3).contains("no path joins P1 and P2"));
        assert!(error("1-2,2-4294967295", 3).contains("no path joins P1 and P3"));
        assert!(error("complete", 1_000_000).contains("at most 5000"));
    }
}
