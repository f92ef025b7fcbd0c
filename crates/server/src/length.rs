//! How long a log has become since its head was replaced.

/// How many bytes of entries a log has at most, before a snapshot stands for them.
const MOST: usize = 64 << 20;

/// The bytes of the entries behind the last snapshot, and of that.
#[derive(Debug, Default)]
pub(crate) struct Length {
    entries: usize,
    snapshot: usize,
}

impl Length {
    /// Of a log that begins behind a snapshot of so many bytes.
    pub(crate) fn behind(snapshot: usize) -> Self {
        Length { entries: 0, snapshot }
    }

    /// There is one more entry, of so many bytes. Says whether a snapshot has to stand for them
    /// now, however few they are.
    pub(crate) fn add(&mut self, bytes: usize) -> bool {
        self.entries += bytes;
        self.entries >= MOST && self.begin()
    }

    /// Says whether a snapshot is worth its while, now that there are as many entries as there is
    /// to be one for: if they have half as many bytes as the last one. So what is written of
    /// snapshots is at most twice as much as of entries, however large the store is.
    pub(crate) fn is_due(&mut self) -> bool {
        self.entries >= self.snapshot / 2 && self.begin()
    }

    /// The head was replaced by so many bytes.
    pub(crate) fn replaced(&mut self, bytes: usize) {
        self.snapshot = bytes;
    }

    fn begin(&mut self) -> bool {
        self.entries = 0;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_waits_for_half_as_many_bytes_as_the_last_one_has() {
        let mut length = Length::default();
        assert!(length.is_due(), "there is none yet");
        length.replaced(100);
        for _ in 0..4 {
            assert!(!length.add(10));
            assert!(!length.is_due());
        }
        assert!(!length.add(10));
        assert!(length.is_due());
        assert!(!length.is_due(), "it counts from there");
    }

    #[test]
    fn however_large_the_last_one_is_entries_have_a_most() {
        let mut length = Length::behind(usize::MAX);
        assert!(!length.add(MOST - 1));
        assert!(!length.is_due());
        assert!(length.add(1));
        assert!(!length.add(1), "it counts from there");
    }
}
