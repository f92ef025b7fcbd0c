//! Edges of a network, as the header of a trace stores them.

use serde::{Deserialize, Serialize};
use tenure_core::{Graph, GraphError, ProcessId};

/// Edges of a network. Each edge is a pair of process numbers, which count from 1. If the weight of
/// an edge is not 1, the weight follows as a third number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeList(Vec<EdgeEntry>);

/// An edge as a trace stores it: the numbers of two processes, and the weight if the weight is not
/// 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum EdgeEntry {
    Unit([u32; 2]),
    Weighted((u32, u32, u64)),
}

impl From<&Graph> for EdgeList {
    fn from(graph: &Graph) -> Self {
        let edges = graph.edges().map(|(one, other, weight)| match weight {
            1 => EdgeEntry::Unit([one.display_number(), other.display_number()]),
            _ => EdgeEntry::Weighted((one.display_number(), other.display_number(), weight)),
        });
        EdgeList(edges.collect())
    }
}

impl EdgeList {
    /// Returns the graph of `n` processes with these edges.
    ///
    /// # Errors
    ///
    /// Returns a [`GraphError`] if the edges do not form a graph of these processes, for example
    /// because an edge names a process that does not exist.
    pub fn to_graph(&self, n: u32) -> Result<Graph, GraphError> {
        // Process numbers begin with 1. Number 0 becomes a process that no group contains.
        let process = |number: u32| ProcessId(number.wrapping_sub(1));
        let edges = self.0.iter().map(|edge| match *edge {
            EdgeEntry::Unit([one, other]) => (process(one), process(other), 1),
            EdgeEntry::Weighted((one, other, weight)) => (process(one), process(other), weight),
        });
        Graph::new(n, edges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_round_trip() {
        let edges = [(0, 1, 1), (1, 2, 7)]
            .map(|(one, other, weight)| (ProcessId(one), ProcessId(other), weight));
        let graph = Graph::new(4, edges).unwrap();
        let text = serde_json::to_string(&EdgeList::from(&graph)).unwrap();
        assert_eq!(text, "[[1,2],[2,3,7]]");
        let list: EdgeList = serde_json::from_str(&text).unwrap();
        assert_eq!(list.to_graph(4), Ok(graph));
        assert!(list.to_graph(2).is_err());
        let zero: EdgeList = serde_json::from_str("[[0,1]]").unwrap();
        assert!(zero.to_graph(2).is_err());
        assert!(serde_json::from_str::<EdgeList>("[[1]]").is_err());
    }
}
