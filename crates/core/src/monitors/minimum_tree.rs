//! Monitor of a spanning tree.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::graph::Graph;
use crate::monitor::{Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::process_set::ProcessSet;
use crate::property::Property;
use crate::service::spanning_tree::{Command, Event};
use crate::shared_config::UncomparedConfig;

/// Monitor of a spanning tree: the edges that the processes report are exactly those of the minimum
/// spanning tree. Edges of equal weight are ordered by the processes that they join, so this tree
/// is unique.
///
/// If the graph is not known, the monitor only checks that both ends of each reported edge report
/// the edge. An end that has not reported yet is not judged.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MinimumTree {
    /// Neighbours of each process in the minimum spanning tree; empty if the graph is not known.
    tree: UncomparedConfig<Vec<ProcessSet>>,
    /// Reports that the monitor has observed, in ascending order of the processes. Each report
    /// contains a process, and the neighbours that this process has in the tree according to its
    /// own report.
    named: Vec<(ProcessId, Vec<ProcessId>)>,
}

impl MinimumTree {
    /// Creates the monitor for a connected graph, in its initial state: no process has reported its
    /// edges.
    pub fn for_graph(graph: &Graph) -> Self {
        MinimumTree { tree: UncomparedConfig::new(minimum_tree(graph)), ..MinimumTree::default() }
    }
}

/// The initial state of the monitor for an unknown graph: no process has reported its edges.
impl Default for MinimumTree {
    fn default() -> Self {
        MinimumTree { tree: UncomparedConfig::new(Vec::new()), named: Vec::new() }
    }
}

/// Returns the neighbours of each process in the minimum spanning tree, by Kruskal's algorithm.
fn minimum_tree(graph: &Graph) -> Vec<ProcessSet> {
    let mut edges: Vec<_> = graph.edges().collect();
    edges.sort_by_key(|(one, other, weight)| (*weight, *one.min(other), *one.max(other)));
    let size = graph.vertex_count() as usize;
    let (mut tree, mut parts) = (vec![ProcessSet::new(); size], (0..size).collect::<Vec<usize>>());
    for (one, other, _) in edges {
        let (part, merged) = (parts[one.index()], parts[other.index()]);
        if part != merged {
            tree[one.index()].insert(other);
            tree[other.index()].insert(one);
            parts.iter_mut().filter(|it| **it == merged).for_each(|it| *it = part);
        }
    }
    tree
}

fn names(processes: impl Iterator<Item = ProcessId>) -> String {
    let names: Vec<String> = processes.map(|process| format!("{process}")).collect();
    if names.is_empty() { "none".into() } else { names.join(" ") }
}

impl Monitor<Command, Event> for MinimumTree {
    fn property(&self) -> Property {
        Property::MinimumSpanningTree
    }

    fn observe(&mut self, at: ProcessId, seen: Observation<'_, Command, Event>) -> MonitorResult {
        let Observation::Event(Event::Built { neighbours }) = seen else { return Ok(()) };
        if let Some(expected) = self.tree.get(at.index()) {
            let named: ProcessSet = neighbours.iter().copied().collect();
            if named != *expected {
                let (named, expected) = (names(named.iter()), names(expected.iter()));
                let message = format!(
                    "{at} names edges to {named}, and the minimum spanning tree has {expected}"
                );
                return violated(at, message);
            }
        }
        let differs = |(peer, theirs): &&(ProcessId, Vec<ProcessId>)| {
            theirs.contains(&at) != neighbours.contains(peer)
        };
        if let Some((peer, _)) = self.named.iter().find(differs) {
            let message = format!("only one of {at} and {peer} names the edge between them");
            return violated(at, message);
        }
        let place = self.named.partition_point(|(known, _)| *known < at);
        self.named.insert(place, (at, neighbours.clone()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(mut monitor: MinimumTree, named: &[(u32, &[u32])]) -> bool {
        named.iter().all(|(at, neighbours)| {
            let neighbours = neighbours.iter().copied().map(ProcessId).collect();
            let event = Event::Built { neighbours };
            monitor.observe(ProcessId(*at), Observation::Event(&event)).is_ok()
        })
    }

    /// A square with a diagonal. Its minimum spanning tree is the path P1 – P2 – P4 – P3.
    fn square() -> MinimumTree {
        let graph: Graph = "1-2:1,2-3:4,3-4:2,4-1:4,2-4:3".parse().expect("a graph");
        MinimumTree::for_graph(&graph)
    }

    #[test]
    fn detects_wrong_trees() {
        let right: [(u32, &[u32]); 4] = [(2, &[3]), (0, &[1]), (1, &[0, 3]), (3, &[1, 2])];
        assert!(judged(square(), &right));
        assert!(!judged(square(), &[(0, &[1, 3])]), "a heavier edge");
        assert!(!judged(square(), &[(1, &[0])]), "an edge is missing");
        let other: [(u32, &[u32]); 2] = [(0, &[1]), (1, &[0, 2])];
        assert!(!judged(square(), &other), "another spanning tree");
    }

    #[test]
    fn equal_weights_are_compared_by_their_ends() {
        let graph: Graph = "2-3:1,1-3:1,1-2:1".parse().expect("a graph");
        let tree = minimum_tree(&graph);
        let neighbours = |at: usize| tree[at].iter().collect::<Vec<_>>();
        assert_eq!(neighbours(0), [ProcessId(1), ProcessId(2)]);
        assert_eq!(neighbours(2), [ProcessId(0)]);
    }

    #[test]
    fn both_ends_name_an_edge_of_an_unknown_graph() {
        assert!(judged(MinimumTree::default(), &[(0, &[1]), (1, &[0])]));
        assert!(!judged(MinimumTree::default(), &[(0, &[1]), (1, &[])]));
    }
}
