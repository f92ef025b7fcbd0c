//! Metrics about the saves of a store.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::histogram::DurationHistogram;

/// Live metrics about the saves of a [`StableStorage`](super::StableStorage), for status pages.
/// Cheap to clone; all clones share one state.
#[derive(Clone, Debug, Default)]
pub struct SaveMetrics(Arc<Counters>);

#[derive(Debug)]
struct Counters {
    durations: DurationHistogram,
    /// Duration of the slowest successful save, in nanoseconds.
    longest: AtomicU64,
    /// Time at which the save in progress began. `None` if no save is in progress.
    unfinished_since: Mutex<Option<Instant>>,
}

impl Default for Counters {
    fn default() -> Self {
        Counters {
            durations: DurationHistogram::new(DurationHistogram::FAST_BOUNDS_SECONDS),
            longest: AtomicU64::new(0),
            unfinished_since: Mutex::default(),
        }
    }
}

/// Summary of the successful saves of a [`StableStorage`](super::StableStorage) since it was
/// opened. Rewrites in the background are not included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SaveSummary {
    /// Number of saves, including the save that began the session.
    pub count: u64,
    /// Total duration of the saves. A save spends most of its time waiting for the disk.
    pub total_duration: Duration,
    /// Duration of the slowest save.
    pub longest_duration: Duration,
}

impl SaveMetrics {
    /// Returns the summary of the saves so far.
    pub fn read(&self) -> SaveSummary {
        let durations = self.0.durations.read();
        let longest = Duration::from_nanos(self.0.longest.load(Ordering::Relaxed));
        SaveSummary {
            count: durations.count,
            total_duration: durations.sum,
            longest_duration: longest,
        }
    }

    /// Returns the histogram of the durations of the successful saves.
    pub fn durations(&self) -> &DurationHistogram {
        &self.0.durations
    }

    /// Returns the time since the save in progress began. Returns `None` if no save is in progress.
    /// Ignores rewrites in the background, and saves before the node starts.
    pub fn unfinished_save_age(&self) -> Option<Duration> {
        self.unfinished_since().map(|since| since.elapsed())
    }

    /// Records that a save begins. The save ends when the returned guard is dropped.
    pub(crate) fn begin_save(&self) -> UnfinishedSave {
        *self.unfinished_since() = Some(Instant::now());
        UnfinishedSave(self.clone())
    }

    fn unfinished_since(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.unfinished_since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn record(&self, duration: Duration) {
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.0.durations.record(duration);
        self.0.longest.fetch_max(nanoseconds, Ordering::Relaxed);
    }
}

/// Guard of the save in progress.
#[derive(Debug)]
pub(crate) struct UnfinishedSave(SaveMetrics);

impl Drop for UnfinishedSave {
    fn drop(&mut self) {
        *self.0.unfinished_since() = None;
    }
}
