//! Changes of the replicated logs of processes, as the HTML page stores them.

use serde::Serialize;
use tenure_core::ProcessId;
use tenure_core::service::log::Content;

use super::columnar::Interner;
use crate::fold::logs::{ReplicatedLogChange, ReplicatedLogStates};

/// Changes of logs in trace order, one array per field.
#[derive(Debug, Default, Serialize)]
pub(super) struct ColumnarLogChanges {
    /// For each change, the index among the records on the page of the record that makes the
    /// change. The index is -1 if the change describes a log before the first record of the page.
    row: Vec<i64>,
    at: Vec<usize>,
    /// For each change, the index of the last unchanged entry of the log; 0 if there is none.
    stays: Vec<u64>,
    /// For each change, the last log index that a snapshot covers; 0 if there is no snapshot.
    snapshot: Vec<u64>,
    /// For each change, the terms of the new entries, in order.
    terms: Vec<Vec<u64>>,
    /// For each change, one element per new entry: the index of the text that shows the content of
    /// the entry. The index is -1 if the entry has no content.
    description: Vec<Vec<i64>>,
    /// For each change, the commit index after the change.
    committed: Vec<u64>,
}

impl ColumnarLogChanges {
    /// Appends one change for each process with a log. The change adds all entries that the log
    /// contains before the first record of the page. `size` is the number of processes.
    pub(super) fn push_initial_logs(
        &mut self,
        logs: &ReplicatedLogStates,
        size: u32,
        interner: &mut Interner,
    ) {
        for at in (0..size).map(ProcessId).filter(|at| logs.log(*at).is_some()) {
            self.push(-1, ReplicatedLogChange { at, unchanged_count: 0 }, logs, interner);
        }
    }

    /// Appends one change of a log to the columns. `record_index` is the index of the record that
    /// causes the change, among the records on the page. It is -1 if the change precedes the first
    /// record of the page. `logs` contains all logs after the change. Does nothing if the process
    /// has no log.
    pub(super) fn push(
        &mut self,
        record_index: i64,
        change: ReplicatedLogChange,
        logs: &ReplicatedLogStates,
        interner: &mut Interner,
    ) {
        let ReplicatedLogChange { at, unchanged_count: stays } = change;
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
