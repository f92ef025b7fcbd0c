//! Decides when a snapshot replaces the beginning of the log.

/// Total size of the entries since the last snapshot, in bytes, at which another snapshot is due.
const MAX_LOG_BYTES: usize = 64 << 20;

/// Policy that decides when a snapshot is due. It compares the size of the entries since the last
/// snapshot with the size of that snapshot, both in bytes.
#[derive(Debug, Default)]
pub(crate) struct CompactionPolicy {
    entries: usize,
    snapshot: usize,
}

impl CompactionPolicy {
    /// Creates the policy of a log that begins with a snapshot of `snapshot_bytes` bytes.
    pub(crate) fn after_snapshot(snapshot_bytes: usize) -> Self {
        CompactionPolicy { entries: 0, snapshot: snapshot_bytes }
    }

    /// Adds an entry of `bytes` bytes to the counted size of the entries. If this size reaches
    /// [`MAX_LOG_BYTES`], sets it to 0 and returns true. Then a snapshot is due, even if there are
    /// few entries.
    pub(crate) fn add_entry(&mut self, bytes: usize) -> bool {
        self.entries += bytes;
        self.entries >= MAX_LOG_BYTES && self.reset()
    }

    /// Returns true if a new snapshot is worthwhile: the entries since the last snapshot have at
    /// least half as many bytes as the last snapshot. In this case, also sets the counted size of
    /// the entries to 0. Must be called only when the log has the configured number of entries.
    ///
    /// The snapshots that this method allows, except the latest one, have together at most twice as
    /// many bytes as all entries.
    pub(crate) fn try_begin_snapshot(&mut self) -> bool {
        self.entries >= self.snapshot / 2 && self.reset()
    }

    pub(crate) fn record_snapshot_size(&mut self, bytes: usize) {
        self.snapshot = bytes;
    }

    fn reset(&mut self) -> bool {
        self.entries = 0;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshot_is_due_at_half_the_size_of_the_last() {
        let mut policy = CompactionPolicy::default();
        assert!(policy.try_begin_snapshot(), "there is no snapshot yet");
        policy.record_snapshot_size(100);
        for _ in 0..4 {
            assert!(!policy.add_entry(10));
            assert!(!policy.try_begin_snapshot());
        }
        assert!(!policy.add_entry(10));
        assert!(policy.try_begin_snapshot());
        assert!(!policy.try_begin_snapshot(), "the count starts again");
    }

    #[test]
    fn bytes_of_entries_are_bounded_after_any_snapshot() {
        let mut policy = CompactionPolicy::after_snapshot(usize::MAX);
        assert!(!policy.add_entry(MAX_LOG_BYTES - 1));
        assert!(!policy.try_begin_snapshot());
        assert!(policy.add_entry(1));
        assert!(!policy.add_entry(1), "the count starts again");
    }
}
