//! The coordinator: collects the status tables of all processes, searches them for deadlocks, and
//! aborts one process of each cycle.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use tenure_core::{Effects, ProcessId, ProcessSet};

use super::message::{Message, ResourceRequestId, StatusTables};
use super::wait_for_graph::WaitForGraph;
use super::{CentralDeadlockDetection, VariantId};

/// State of the coordinator: the progress of the current collection of status tables from all
/// processes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct StatusCollection {
    /// Number of the current or last collection, from 1; 0 before the first collection.
    number: u64,
    /// Processes whose status tables for the current collection have not arrived. Empty if no
    /// collection is in progress.
    pub(super) lacking: ProcessSet,
    /// Status tables that have arrived for the current collection, by sender. In the variant
    /// `reports`, this field contains the tables in the last report of each process.
    tables: BTreeMap<ProcessId, StatusTables>,
    /// Number of the last report of each process. Used only with the variant `reports`.
    reported: BTreeMap<ProcessId, u64>,
    /// Wait-for graph that the first phase of the two-phase protocol has found. `Some` only while
    /// the second phase is in progress.
    first_phase: Option<WaitForGraph>,
    /// True if a manager has reported a waiting process since the current collection began. The
    /// collection may lack this wait, so another collection must follow.
    pub(super) is_outdated: bool,
}

/// Role of the coordinator: this process collects the status tables of all processes, and aborts
/// one process of each cycle.
impl CentralDeadlockDetection {
    pub(super) fn start_detection(&mut self, fx: &mut impl Effects<Self>) {
        self.collection.is_outdated = false;
        self.collect(fx);
    }

    fn collect(&mut self, fx: &mut impl Effects<Self>) {
        self.collection.number += 1;
        self.collection.lacking = self.group.processes().collect();
        let number = self.collection.number;
        for process in self.group.processes() {
            self.send(process, Message::Collect { number }, fx);
        }
    }

    pub(super) fn on_status(
        &mut self,
        from: ProcessId,
        number: u64,
        tables: StatusTables,
        fx: &mut impl Effects<Self>,
    ) {
        let collection = &mut self.collection;
        if self.variants.has(VariantId::Reports) {
            if collection.reported.get(&from).is_none_or(|last| *last < number) {
                collection.reported.insert(from, number);
                collection.tables.insert(from, tables);
                let graph = WaitForGraph::from_resource_tables(&collection.tables);
                self.abort_victims(&graph, fx);
            }
        } else if number == collection.number && collection.lacking.remove(from) {
            collection.tables.insert(from, tables);
            if collection.lacking.is_empty() {
                self.conclude(fx);
            }
        }
    }

    /// Ends the current collection of status tables. In the first phase of the two-phase protocol,
    /// starts the second phase if the wait-for graph has a cycle. In all other cases, aborts
    /// victims, and starts another collection if this one is outdated.
    fn conclude(&mut self, fx: &mut impl Effects<Self>) {
        let has = |switch| self.variants.has(switch);
        let processes = WaitForGraph::from_process_tables(&self.collection.tables);
        let resources = WaitForGraph::from_resource_tables(&self.collection.tables);
        let graph = if has(VariantId::TwoPhase) || has(VariantId::DoubleCollection) {
            match self.collection.first_phase.take() {
                Some(first) if has(VariantId::DoubleCollection) => processes.common_edges(&first),
                Some(first) => processes.common_edges_ignoring_numbers(&first),
                None if processes.some_cycles().is_empty() => WaitForGraph::default(),
                None => {
                    self.collection.first_phase = Some(processes);
                    self.collection.tables.clear();
                    return self.collect(fx);
                }
            }
        } else if has(VariantId::FirstPhase) {
            processes
        } else {
            processes.common_edges(&resources)
        };
        self.abort_victims(&graph, fx);
        if self.collection.is_outdated && self.collection.lacking.is_empty() {
            self.start_detection(fx);
        }
    }

    fn abort_victims(&mut self, graph: &WaitForGraph, fx: &mut impl Effects<Self>) {
        let tables = &self.collection.tables;
        let order = |claim: &ResourceRequestId| {
            let completed = tables.get(&claim.process).map_or(0, |it| it.process.completed);
            (completed, claim.process)
        };
        let mut victims: Vec<ResourceRequestId> = Vec::new();
        for cycle in graph.some_cycles() {
            if self.variants.has(VariantId::AllVictims) {
                victims.extend(cycle);
            } else {
                victims.extend(cycle.into_iter().max_by_key(order));
            }
        }
        if !self.variants.has(VariantId::Reports) {
            self.collection.tables.clear();
        }
        for ResourceRequestId { process, number } in victims {
            self.send(process, Message::Abort { number }, fx);
        }
    }
}
