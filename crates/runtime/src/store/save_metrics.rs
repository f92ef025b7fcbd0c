//! Metrics about the saves of a store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::histogram::DurationHistogram;

/// Live metrics about the saves of a [`Store`](super::Store), for status pages. Cheap to clone; all
/// clones share one state.
#[derive(Clone, Debug, Default)]
pub struct SaveMetrics(Arc<Counters>);

#[derive(Debug)]
struct Counters {
    durations: DurationHistogram,
    /// Duration of the slowest save, in nanoseconds.
    longest: AtomicU64,
}

impl Default for Counters {
    fn default() -> Self {
        Counters {
            durations: DurationHistogram::new(DurationHistogram::FAST_BOUNDS_SECONDS),
            longest: AtomicU64::new(0),
        }
    }
}

/// Summary of all saves of a [`Store`](super::Store) since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SaveSummary {
    /// Number of saves, including the save that began the session.
    pub count: u64,
    /// Total duration of the saves. A save spends most of its time waiting for the disk.
    pub total: Duration,
    /// Duration of the slowest save.
    pub longest: Duration,
}

impl SaveMetrics {
    /// Returns the current metrics.
    pub fn read(&self) -> SaveSummary {
        let durations = self.0.durations.read();
        let longest = Duration::from_nanos(self.0.longest.load(Ordering::Relaxed));
        SaveSummary { count: durations.count, total: durations.sum, longest }
    }

    /// Returns the histogram of the durations of the saves.
    pub fn durations(&self) -> &DurationHistogram {
        &self.0.durations
    }

    pub(super) fn record(&self, duration: Duration) {
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.0.durations.record(duration);
        self.0.longest.fetch_max(nanoseconds, Ordering::Relaxed);
    }
}
