//! Figures that a judge has no need of.

use serde::Serialize;
use tenure_core::{Card, Layer, ProcessId, Service, Strategy};
use tenure_trace::{Change, Hold, Kind, Record, Standings};

/// Who serves the grants of a lock, and so enters without asking anybody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coordinator {
    /// Nobody: every entry costs the same.
    Nobody,
    /// Always this process.
    Fixed(ProcessId),
    /// Whoever leads.
    Leader,
}

impl Coordinator {
    /// As the card of the lock says: one process decides, and nobody named another than the first;
    /// or the lock is made of an election, whose leader it offers as well.
    pub(super) fn of(lock: &Card) -> Self {
        match (lock.strategy, lock.service) {
            (Strategy::Centralised, _) => Coordinator::Fixed(ProcessId(0)),
            (Strategy::Composition, Service::Office) => Coordinator::Leader,
            _ => Coordinator::Nobody,
        }
    }
}

/// What was injected on purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Injected {
    /// Messages of the lock and the election that were lost.
    pub(super) lost: u64,
    /// Repeats and acknowledgements that were lost.
    pub(super) lost_repairs: u64,
    /// Messages that were sent twice.
    pub(super) duplicated: u64,
}

/// What a pass over all records finds.
#[derive(Clone, Debug, Default)]
pub(super) struct Analysis {
    /// Entries of processes that did not coordinate the lock themselves.
    pub(super) entries_away: u64,
    pub(super) injected: Injected,
    first_access: Option<u64>,
    last_access: u64,
    standings: Standings,
}

impl Analysis {
    /// From the first access of the resource to the last.
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
        if self.standings.read(record).contains(&Change::Begins(Hold::Inside)) {
            self.entries_away += u64::from(!self.coordinates(at, coordinator));
        }
        match &record.kind {
            Kind::Drop(passage) if passage.layer == Layer::Channel => {
                self.injected.lost_repairs += 1;
            }
            Kind::Drop(_) => self.injected.lost += 1,
            Kind::Duplicate(_) => self.injected.duplicated += 1,
            _ => {}
        }
    }

    fn coordinates(&self, at: ProcessId, coordinator: Coordinator) -> bool {
        match coordinator {
            Coordinator::Nobody => false,
            Coordinator::Fixed(process) => at == process,
            Coordinator::Leader => {
                self.standings.of(at).leader.is_some_and(|term| term.leader == at)
            }
        }
    }
}
