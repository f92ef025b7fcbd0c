//! The logs of processes, as what changes in them with each record.

use serde::Serialize;
use tenure_core::ProcessId;
use tenure_core::service::log::Content;

use super::columns::Names;
use crate::fold::logs::{Changed, Logs};

/// What changes in logs, in the order of the trace.
#[derive(Debug, Default, Serialize)]
pub(super) struct LogChanges {
    /// With which of the records that the page has, by place; -1 for what was there before them.
    row: Vec<i64>,
    at: Vec<usize>,
    /// How many entries stay.
    stays: Vec<u64>,
    /// For how many of them a snapshot stands.
    snapshot: Vec<u64>,
    /// The terms of those behind them, and what these say; -1 for nothing.
    terms: Vec<Vec<u64>>,
    says: Vec<Vec<i64>>,
    /// What is committed then.
    committed: Vec<u64>,
}

impl LogChanges {
    /// What all have before the first record that the page has.
    pub(super) fn begin(&mut self, logs: &Logs, size: u32, names: &mut Names) {
        for at in (0..size).map(ProcessId).filter(|at| logs.of(*at).is_some()) {
            self.put(-1, Changed { at, stays: 0 }, logs, names);
        }
    }

    /// What changes with a record; the logs are those behind it.
    pub(super) fn put(&mut self, row: i64, changed: Changed, logs: &Logs, names: &mut Names) {
        let Changed { at, stays } = changed;
        let Some(kept) = logs.of(at) else { return };
        let old = stays.saturating_sub(kept.snapshot);
        let new = kept.entries.iter().skip(usize::try_from(old).unwrap_or(usize::MAX));
        self.row.push(row);
        self.at.push(at.index());
        self.stays.push(stays);
        self.snapshot.push(kept.snapshot);
        self.terms.push(new.clone().map(|entry| entry.term).collect());
        let says = new.map(|entry| match &entry.content {
            Content::Nothing => -1,
            Content::Payload(payload) => names.text(&payload.to_string()),
            Content::Members(members) => names.text(&members.text()),
        });
        self.says.push(says.collect());
        self.committed.push(kept.committed);
    }
}
