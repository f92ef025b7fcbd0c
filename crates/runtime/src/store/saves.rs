//! Metrics about the saves of a store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Live metrics about the saves of a [`Store`](super::Store), for status pages. Cheap to clone; all
/// clones share one state.
#[derive(Clone, Debug, Default)]
pub struct SaveMetrics(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    count: AtomicU64,
    nanoseconds: AtomicU64,
    longest: AtomicU64,
}

/// Metrics about the saves of a store since it was opened, read at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SaveCounts {
    /// Number of saves, including the one that began the session.
    pub count: u64,
    /// Total duration of the saves. Most of it is spent waiting for the disk.
    pub total: Duration,
    /// Duration of the slowest save.
    pub longest: Duration,
}

impl SaveMetrics {
    /// Returns the current metrics.
    pub fn read(&self) -> SaveCounts {
        let read = |figure: &AtomicU64| figure.load(Ordering::Relaxed);
        SaveCounts {
            count: read(&self.0.count),
            total: Duration::from_nanos(read(&self.0.nanoseconds)),
            longest: Duration::from_nanos(read(&self.0.longest)),
        }
    }

    pub(super) fn record(&self, took: Duration) {
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.0.count.fetch_add(1, Ordering::Relaxed);
        self.0.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
        self.0.longest.fetch_max(nanoseconds, Ordering::Relaxed);
    }
}
