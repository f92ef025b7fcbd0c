//! Changes that the records on a page make to the logs.

use serde::Serialize;
use tenure_core::ProcessId;
use tenure_core::service::log::Content;

use super::columnar::Interner;
use crate::fold::logs::{LogChange, LogStates};

/// Changes of logs in trace order, one array per field.
#[derive(Debug, Default, Serialize)]
pub(super) struct ColumnarLogChanges {
    /// For each change, the index of the record that makes the change. The index counts only the
    /// records on the page. It is -1 if the change describes a log before the first record of the
    /// page.
    row: Vec<i64>,
    at: Vec<usize>,
    /// For each change, the number of unchanged entries. These are the first entries of the log.
    stays: Vec<u64>,
    /// For each change, the last index that a snapshot covers; 0 if there is none.
    snapshot: Vec<u64>,
    /// For each change, the terms of the new entries, in order. The field `description` also has
    /// one element per new entry. This element is the index of the text that shows the content of
    /// the entry, or -1 if the entry has no content.
    terms: Vec<Vec<u64>>,
    description: Vec<Vec<i64>>,
    committed: Vec<u64>,
}

impl ColumnarLogChanges {
    /// Appends one change for the log of each process. The change adds all entries that the log
    /// contains before the first record of the page.
    pub(super) fn push_initial_logs(
        &mut self,
        logs: &LogStates,
        size: u32,
        interner: &mut Interner,
    ) {
        for at in (0..size).map(ProcessId).filter(|at| logs.log(*at).is_some()) {
            self.push(-1, LogChange { at, unchanged_count: 0 }, logs, interner);
        }
    }

    /// Appends one change of a log to the columns. `record_index` is the index of the record that
    /// causes the change, among the records on the page. It is -1 if the change precedes the first
    /// record of the page. `logs` contains all logs after the change.
    pub(super) fn push(
        &mut self,
        record_index: i64,
        change: LogChange,
        logs: &LogStates,
        interner: &mut Interner,
    ) {
        let LogChange { at, unchanged_count: stays } = change;
        let Some(kept) = logs.log(at) else { return };
        let old = stays.saturating_sub(kept.snapshot_index);
        let new = kept.entries.iter().skip(usize::try_from(old).unwrap_or(usize::MAX));
        self.row.push(record_index);
        self.at.push(at.index());
        self.stays.push(stays);
        self.snapshot.push(kept.snapshot_index);
        self.terms.push(new.clone().map(|entry| entry.term).collect());
        let description = new.map(|entry| match &entry.content {
            Content::Nothing => -1,
            Content::Payload(payload) => interner.intern_text(&payload.to_string()),
            Content::Members(members) => interner.intern_text(&members.to_text()),
        });
        self.description.push(description.collect());
        self.committed.push(kept.commit_index);
    }
}
