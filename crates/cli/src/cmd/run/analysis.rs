//! Figures that `tenure run` computes from the trace records of a run: entries, injected faults,
//! and the time of accesses to the resource.

use serde::Serialize;
use tenure_core::{AlgorithmClass, Card, Layer, ProcessId, Service};
use tenure_trace::{ProcessCondition, ProcessStateChange, ProcessStates, Record, RecordKind};

/// Coordinator of a lock algorithm: the process that grants the lock to one process at a time. The
/// coordinator needs no messages for its own entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CoordinatorKind {
    /// The lock has no coordinator. Every entry has the same cost.
    None,
    /// The same process grants the lock during the whole run.
    Fixed(ProcessId),
    /// The current leader grants the lock, so the coordinator changes with each election.
    Leader,
}

impl CoordinatorKind {
    /// Returns the coordinator of a lock, according to the [`Card`] of the lock. The coordinator of
    /// a centralised lock is the first process. The coordinator of a lock that is composed with an
    /// election is the leader. All other locks have no coordinator.
    pub(super) fn from_card(lock: &Card) -> Self {
        match (lock.strategy, lock.service) {
            (AlgorithmClass::Centralised, _) => CoordinatorKind::Fixed(ProcessId(0)),
            (AlgorithmClass::Composition, Service::MutexAndElection) => CoordinatorKind::Leader,
            _ => CoordinatorKind::None,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct InjectedFaultCounts {
    /// Number of dropped messages of the lock algorithm and the election algorithm. A message that
    /// the reliable channel sends again counts only if its first transmission is dropped.
    pub(super) lost: u64,
    /// Number of dropped retransmissions and acknowledgements. The reliable channel sends these
    /// messages in addition to the messages of the algorithms.
    pub(super) lost_repairs: u64,
    /// Number of messages that were sent twice.
    pub(super) duplicated: u64,
}

/// Figures of a run, computed in one pass over all records of the traces of the run.
#[derive(Clone, Debug, Default)]
pub(super) struct RunFigures {
    /// Number of critical-section entries of processes that were not the coordinator when they
    /// entered.
    pub(super) non_coordinator_entries: u64,
    pub(super) injected: InjectedFaultCounts,
    first_access: Option<u64>,
    last_access: u64,
    process_states: ProcessStates,
}

impl RunFigures {
    /// Returns the time between the first and the last access to the resource, in seconds. Returns
    /// 0 if there were fewer than two accesses.
    pub(super) fn access_span_seconds(&self) -> f64 {
        let first = self.first_access.unwrap_or(self.last_access);
        self.last_access.saturating_sub(first) as f64 / 1e9
    }

    pub(super) fn add_record(&mut self, record: &Record, coordinator: CoordinatorKind) {
        if let RecordKind::Access(_) = record.kind {
            self.first_access.get_or_insert(record.time);
            self.last_access = record.time;
        }
        let Some(at) = record.process.process() else { return };
        if self
            .process_states
            .apply_record(record)
            .contains(&ProcessStateChange::ConditionBegins(ProcessCondition::Inside))
        {
            self.non_coordinator_entries += u64::from(!self.coordinates(at, coordinator));
        }
        match &record.kind {
            RecordKind::Drop(message_record) if message_record.layer == Layer::Channel => {
                self.injected.lost_repairs += 1;
            }
            RecordKind::Drop(_) => self.injected.lost += 1,
            RecordKind::Duplicate(_) => self.injected.duplicated += 1,
            _ => {}
        }
    }

    fn coordinates(&self, at: ProcessId, coordinator: CoordinatorKind) -> bool {
        match coordinator {
            CoordinatorKind::None => false,
            CoordinatorKind::Fixed(process) => at == process,
            CoordinatorKind::Leader => {
                self.process_states.state(at).leader.is_some_and(|term| term.leader == at)
            }
        }
    }
}
