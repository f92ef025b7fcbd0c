//! Text form of a graph, as one word. For example, `1-2,2-3:7,4` has an edge of weight 1, an edge
//! of weight 7, and a vertex without edges.

use core::fmt;
use core::str::FromStr;

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::process::ProcessId;

use super::{Graph, GraphError};

/// Error: a text is not a list of edges and vertices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseGraphError {
    /// This item of the text is neither an edge, such as 1-2 or 2-3:7, nor a vertex, such as 4.
    Edge(String),
    /// The listed edges do not form a graph.
    Graph(GraphError),
}

impl fmt::Display for ParseGraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParseGraphError::Edge(item) => {
                write!(f, "expected edges such as 1-2,2-3:7, found '{item}'")
            }
            ParseGraphError::Graph(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ParseGraphError {}

/// Largest process number that the parser of a graph accepts. The largest process number in the
/// text of a graph is the number of vertices, so this bound limits the memory for the graph.
const MAX_PROCESS_NUMBER: u32 = 16_000_000;

impl FromStr for Graph {
    type Err = ParseGraphError;

    /// Parses a list of edges and vertices. Process numbers begin with 1, and an edge may have a
    /// weight after a colon. A number alone names a vertex, which need not have an edge. The
    /// largest number in the text is the number of vertices.
    fn from_str(text: &str) -> Result<Self, ParseGraphError> {
        let (mut edges, mut vertices) = (Vec::new(), 0);
        for item in text.split(',') {
            let wrong = || ParseGraphError::Edge(item.to_string());
            let number = |text: &str| {
                let number =
                    text.parse().ok().filter(|number| (1..=MAX_PROCESS_NUMBER).contains(number));
                number.ok_or_else(wrong)
            };
            let (ends, weight) = match item.split_once(':') {
                Some((ends, weight)) => (ends, weight.parse().map_err(|_| wrong())?),
                None => (item, 1),
            };
            let (one, other) = ends.split_once('-').map_or((ends, None), |it| (it.0, Some(it.1)));
            let one = number(one)?;
            vertices = vertices.max(one);
            if let Some(other) = other {
                let other = number(other)?;
                vertices = vertices.max(other);
                edges.push((ProcessId(one - 1), ProcessId(other - 1), weight));
            } else if item.contains(':') {
                return Err(wrong());
            }
        }
        Graph::new(vertices, edges).map_err(ParseGraphError::Graph)
    }
}

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        for (one, other, weight) in self.edges() {
            write!(f, "{comma}{}-{}", one.display_number(), other.display_number())?;
            if weight != 1 {
                write!(f, ":{weight}")?;
            }
            comma = ",";
        }
        let vertices = (0..self.vertex_count()).map(ProcessId);
        for vertex in vertices.filter(|vertex| self.degree(*vertex) == 0) {
            write!(f, "{comma}{}", vertex.display_number())?;
            comma = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip() {
        for text in ["1-2,2-3:7", "1", "1-3,2", "1-2,1-3,1-4,2-3"] {
            let graph: Graph = text.parse().unwrap();
            assert_eq!(graph.to_string(), text);
        }
        let graph = Graph::random_connected(9, 300_000, 4).with_distinct_weights(2);
        assert_eq!(graph.to_string().parse(), Ok(graph));
    }

    #[test]
    fn rejects_other_texts() {
        let error = |text: &str| text.parse::<Graph>().unwrap_err().to_string();
        let texts =
            [("", ""), ("1-2,x", "x"), ("0-1", "0-1"), ("1-2-3", "1-2-3"), ("1-2,4:7", "4:7")];
        for (text, item) in texts {
            assert_eq!(
                error(text),
                alloc::format!("expected edges such as 1-2,2-3:7, found '{item}'")
            );
        }
        assert_eq!(error("1-1"), "edge P1 – P1 joins a vertex with itself");
        assert_eq!(error("1-2:0"), "edge P1 – P2 has the weight 0: expected at least 1");
        assert!(error("1-99999999").contains("99999999"));
    }
}
