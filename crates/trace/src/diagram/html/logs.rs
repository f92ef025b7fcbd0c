//! Changes of the logs by the records of a page.

use serde::Serialize;
use tenure_core::ProcessId;
use tenure_core::service::log::Content;

use super::columns::Names;
use crate::fold::logs::{LogChange, Logs};

/// Changes of logs in trace order, one array per field.
#[derive(Debug, Default, Serialize)]
pub(super) struct LogChanges {
    /// Index of the record on the page that makes the change. -1 for the state before the first
    /// record.
    row: Vec<i64>,
    at: Vec<usize>,
    /// Number of entries at the start of the log that the change leaves as they are.
    stays: Vec<u64>,
    /// Last index that a snapshot covers; 0 if there is none.
    snapshot: Vec<u64>,
    /// Terms of the entries after those that stay. For each of them, `description` has the index of
    /// the text with its content, or -1 for an entry without content.
    terms: Vec<Vec<u64>>,
    description: Vec<Vec<i64>>,
    /// Commit index after the change.
    committed: Vec<u64>,
}

impl LogChanges {
    /// Adds the state of all logs before the first record of the page.
    pub(super) fn begin(&mut self, logs: &Logs, size: u32, names: &mut Names) {
        for at in (0..size).map(ProcessId).filter(|at| logs.of(*at).is_some()) {
            self.put(-1, LogChange { at, stays: 0 }, logs, names);
        }
    }

    /// Adds the change that a record makes. `logs` is the state after that record.
    pub(super) fn put(&mut self, row: i64, changed: LogChange, logs: &Logs, names: &mut Names) {
        let LogChange { at, stays } = changed;
        let Some(kept) = logs.of(at) else { return };
        let old = stays.saturating_sub(kept.snapshot);
        let new = kept.entries.iter().skip(usize::try_from(old).unwrap_or(usize::MAX));
        self.row.push(row);
        self.at.push(at.index());
        self.stays.push(stays);
        self.snapshot.push(kept.snapshot);
        self.terms.push(new.clone().map(|entry| entry.term).collect());
        let description = new.map(|entry| match &entry.content {
            Content::Nothing => -1,
            Content::Payload(payload) => names.text(&payload.to_string()),
            Content::Members(members) => names.text(&members.text()),
        });
        self.description.push(description.collect());
        self.committed.push(kept.committed);
    }
}
