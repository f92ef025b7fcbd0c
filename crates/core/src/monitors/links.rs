//! Monitor of the links that messages use.

use core::hash::{Hash, Hasher};

use alloc::format;
use alloc::sync::Arc;

use crate::card::{Card, Topology};
use crate::graph::Graph;
use crate::monitor::{Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::property::Property;

/// A monitor that rejects a message from one process to another if the topology has no link between
/// them. The topology is the ring or the graph that the algorithm's [`Card`] names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinksOnly {
    topology: Topology,
    size: u32,
    graph: Option<Arc<Graph>>,
}

impl LinksOnly {
    /// Creates the monitor for the links of `topology` in a group of `size` processes. If
    /// `topology` is not a ring, the monitor accepts every message.
    pub const fn in_topology(topology: Topology, size: u32) -> Self {
        LinksOnly { topology, size, graph: None }
    }

    /// Creates the monitor for messages along the edges of a graph.
    pub fn in_graph(graph: Arc<Graph>) -> Self {
        LinksOnly { topology: Topology::Graph, size: graph.vertex_count(), graph: Some(graph) }
    }

    /// Creates the monitor for the links on the [`Card`] of an algorithm. If the card has a graph,
    /// the links are the edges of this graph. Otherwise, the topology on the card determines the
    /// links.
    pub fn from_card(card: &Card, size: u32) -> Self {
        match &card.graph {
            Some(graph) => LinksOnly::in_graph(Arc::clone(graph)),
            None => LinksOnly::in_topology(card.topology, size),
        }
    }

    /// Returns the graph whose edges are the links; `None` if the topology alone determines the
    /// links.
    pub const fn graph(&self) -> Option<&Arc<Graph>> {
        self.graph.as_ref()
    }

    /// Returns true if the network has a link from the process `from` to the process `to`.
    pub fn has_link(&self, from: ProcessId, to: ProcessId) -> bool {
        match &self.graph {
            Some(graph) => graph.has_edge(from, to),
            None => self.topology.may_have_link(self.size, from, to),
        }
    }
}

/// Hashes the topology and the group size, but not the graph, to save time. All three stay the same
/// during a run.
impl Hash for LinksOnly {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.topology, self.size).hash(state);
    }
}

impl<C, E> Monitor<C, E> for LinksOnly {
    fn property(&self) -> Property {
        Property::Topology
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, C, E>) -> MonitorResult {
        match seen {
            Observation::Sent { to } if !self.has_link(at, to) => {
                let place = match self.topology {
                    _ if self.graph.is_some() => "its neighbour in the graph",
                    Topology::UnidirectionalRing => "its successor on the ring",
                    _ => "its neighbour on the ring",
                };
                violated(at, format!("{at} sends to {to}, which is not {place}"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MutexObservation;

    #[test]
    fn detects_message_to_non_neighbour() {
        let sends = |topology, to| {
            let sent = MutexObservation::Sent { to: ProcessId(to) };
            LinksOnly::in_topology(topology, 3).observe(ProcessId(2), sent)
        };
        assert_eq!(sends(Topology::UnidirectionalRing, 0), Ok(()));
        let message = sends(Topology::UnidirectionalRing, 1).expect_err("it is behind").message;
        assert_eq!(message, "P3 sends to P2, which is not its successor on the ring");
        assert_eq!(sends(Topology::BidirectionalRing, 1), Ok(()));
        assert_eq!(sends(Topology::Complete, 1), Ok(()));
    }

    #[test]
    fn detects_message_along_missing_edge() {
        let line = Arc::new(Graph::line(3));
        let sends = |from, to| {
            let sent = MutexObservation::Sent { to: ProcessId(to) };
            LinksOnly::in_graph(Arc::clone(&line)).observe(ProcessId(from), sent)
        };
        assert_eq!((sends(0, 1), sends(1, 0), sends(1, 2)), (Ok(()), Ok(()), Ok(())));
        let message = sends(2, 0).expect_err("the line has no such edge").message;
        assert_eq!(message, "P3 sends to P1, which is not its neighbour in the graph");
    }
}
