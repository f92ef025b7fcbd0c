//! Figures that the verification does not compute.

use serde::Serialize;
use tenure_core::{Card, Layer, ProcessId, Service, Strategy};
use tenure_trace::{Condition, Kind, ProcessStates, Record, StateChange};

/// The process that grants a lock, and so enters without messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coordinator {
    /// None: every entry has the same cost.
    None,
    /// A fixed process.
    Fixed(ProcessId),
    /// The current leader.
    Leader,
}

impl Coordinator {
    /// Derives the coordinator from the card of the lock: the first process of a centralised lock,
    /// or the leader of a lock that is composed with an election.
    pub(super) fn of(lock: &Card) -> Self {
        match (lock.strategy, lock.service) {
            (Strategy::Centralised, _) => Coordinator::Fixed(ProcessId(0)),
            (Strategy::Composition, Service::Office) => Coordinator::Leader,
            _ => Coordinator::None,
        }
    }
}

/// Injected faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Injected {
    /// Lost messages of the lock and the election.
    pub(super) lost: u64,
    /// Lost repeats and acknowledgements.
    pub(super) lost_repairs: u64,
    /// Duplicated messages.
    pub(super) duplicated: u64,
}

/// Figures from a pass over all records.
#[derive(Clone, Debug, Default)]
pub(super) struct Analysis {
    /// Entries of processes other than the coordinator.
    pub(super) entries_away: u64,
    pub(super) injected: Injected,
    first_access: Option<u64>,
    last_access: u64,
    process_states: ProcessStates,
}

impl Analysis {
    /// Returns the time from the first access of the resource to the last, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        let first = self.first_access.unwrap_or(self.last_access);
        self.last_access.saturating_sub(first) as f64 / 1e9
    }

    pub(super) fn read(&mut self, record: &Record, coordinator: Coordinator) {
        if let Kind::Access(_) = record.kind {
            self.first_access.get_or_insert(record.time);
            self.last_access = record.time;
        }
        let Some(at) = record.process.process() else { return };
        if self.process_states.read(record).contains(&StateChange::Begins(Condition::Inside)) {
            self.entries_away += u64::from(!self.coordinates(at, coordinator));
        }
        match &record.kind {
            Kind::Drop(message_record) if message_record.layer == Layer::Channel => {
                self.injected.lost_repairs += 1;
            }
            Kind::Drop(_) => self.injected.lost += 1,
            Kind::Duplicate(_) => self.injected.duplicated += 1,
            _ => {}
        }
    }

    fn coordinates(&self, at: ProcessId, coordinator: Coordinator) -> bool {
        match coordinator {
            Coordinator::None => false,
            Coordinator::Fixed(process) => at == process,
            Coordinator::Leader => {
                self.process_states.of(at).leader.is_some_and(|term| term.leader == at)
            }
        }
    }
}
