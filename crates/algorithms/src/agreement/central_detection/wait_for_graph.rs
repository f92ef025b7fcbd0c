//! The wait-for graph that the coordinator computes from tables.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;

use tenure_core::ProcessId;
use tenure_core::service::resources::Resource;

use super::message::{ResourceRequestId, ResourceStatus, StatusTables};

/// Set of the edges of the wait-for graph. A process waits for one resource at a time. But several
/// edges may start at one process, because tables from different times may show different holders
/// of the same resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct WaitForGraph(BTreeSet<Edge>);

/// The request `waiting` waits for `resource`, which was granted to the request `holder`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Edge {
    waiting: ResourceRequestId,
    holder: ResourceRequestId,
    resource: Resource,
}

impl WaitForGraph {
    pub(super) fn from_resource_tables(tables: &BTreeMap<ProcessId, StatusTables>) -> Self {
        let resources = tables.values().flat_map(|tables| &tables.resources);
        WaitForGraph(resources.flat_map(edges).collect())
    }

    pub(super) fn from_process_tables(tables: &BTreeMap<ProcessId, StatusTables>) -> Self {
        let mut graph = WaitForGraph::default();
        for (process, shown) in tables {
            let Some(awaited) = shown.process.awaited else { continue };
            let waiting = ResourceRequestId { process: *process, number: awaited.number };
            for (other, shown) in tables {
                let held = shown.process.held.iter();
                for held in held.filter(|held| held.resource == awaited.resource) {
                    let holder = ResourceRequestId { process: *other, number: held.number };
                    graph.0.insert(Edge { waiting, holder, resource: awaited.resource });
                }
            }
        }
        graph
    }

    pub(super) fn common_edges(&self, other: &Self) -> Self {
        WaitForGraph(self.0.intersection(&other.0).copied().collect())
    }

    /// Returns the edges of this graph that also occur in `other`. The comparison ignores the
    /// numbers of the requests: two edges are equal if they have the same processes and the same
    /// resource.
    pub(super) fn common_edges_ignoring_numbers(&self, other: &Self) -> Self {
        let name = |edge: &Edge| (edge.waiting.process, edge.holder.process, edge.resource);
        let is_in_both = |edge: &&Edge| other.0.iter().any(|it| name(it) == name(edge));
        WaitForGraph(self.0.iter().filter(is_in_both).copied().collect())
    }

    /// Returns some cycles of the graph, and at least one if the graph has a cycle. Each cycle is
    /// the list of the waiting claims of its processes. If at most one edge starts at each process,
    /// the returned cycles have no process in common.
    pub(super) fn some_cycles(&self) -> Vec<Vec<ResourceRequestId>> {
        let mut found = Vec::new();
        let mut members = BTreeSet::new();
        for edge in &self.0 {
            if members.contains(&edge.waiting.process) {
                continue;
            }
            if let Some(cycle) = self.cycle_through(edge.waiting.process) {
                members.extend(cycle.iter().map(|claim| claim.process));
                found.push(cycle);
            }
        }
        found
    }

    fn cycle_through(&self, start: ProcessId) -> Option<Vec<ResourceRequestId>> {
        let edges_of = |process| self.0.iter().filter(move |edge| edge.waiting.process == process);
        let mut seen = BTreeSet::new();
        let mut paths: Vec<Vec<Edge>> = edges_of(start).map(|edge| vec![*edge]).collect();
        while let Some(path) = paths.pop() {
            let next = path.last()?.holder.process;
            if next == start {
                return Some(path.iter().map(|edge| edge.waiting).collect());
            }
            if seen.insert(next) {
                paths.extend(edges_of(next).map(|edge| [&path[..], &[*edge]].concat()));
            }
        }
        None
    }
}

fn edges(status: &ResourceStatus) -> impl Iterator<Item = Edge> + '_ {
    let (holder, resource) = (status.holder, status.resource);
    status.waiting.iter().map(move |waiting| Edge { waiting: *waiting, holder, resource })
}
