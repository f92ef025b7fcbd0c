//! Histogram of durations, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Histogram of durations with fixed buckets. Several threads may record at the same time.
#[derive(Debug)]
pub struct DurationHistogram {
    /// Upper bounds of all buckets except the last, in seconds, ascending. The last bucket is
    /// unbounded.
    bounds: &'static [f64],
    /// Number of durations in each bucket. It has one element more than `bounds`.
    counts: Box<[AtomicU64]>,
    nanoseconds: AtomicU64,
}

/// Content of a [`DurationHistogram`], as [`DurationHistogram::read`] returns it.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramCounts {
    /// Upper bound of each bucket in seconds, with the number of all durations up to that bound.
    /// The last bucket, which has no bound, is missing.
    pub buckets: Vec<(f64, u64)>,
    /// Number of recorded durations.
    pub count: u64,
    /// Sum of all recorded durations.
    pub sum: Duration,
}

impl DurationHistogram {
    /// Bounds for operations of disks and networks: 0.1 ms to 10 s.
    pub const FAST_BOUNDS_SECONDS: &[f64] = &[
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
        5.0, 10.0,
    ];

    /// Bounds for durations that depend on clients, such as waiting times: 1 ms to 6 h.
    pub const SLOW_BOUNDS_SECONDS: &[f64] =
        &[0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 21600.0];

    /// Creates an empty histogram. `bounds` are the upper bounds of its buckets in seconds, in
    /// ascending order.
    pub fn new(bounds: &'static [f64]) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        DurationHistogram { bounds, counts, nanoseconds: AtomicU64::new(0) }
    }

    /// Records a duration. A duration that equals a bound belongs to the bucket of that bound.
    pub fn record(&self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        let bucket = self.bounds.partition_point(|bound| *bound < seconds);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// Returns the numbers and the sum of the durations recorded so far. If another thread records
    /// meanwhile, the sum may lack a counted duration, or contain one that is not counted.
    pub fn read(&self) -> HistogramCounts {
        let mut count = 0;
        let mut cumulated = self.counts.iter().map(|each| {
            count += each.load(Ordering::Relaxed);
            count
        });
        let buckets = self.bounds.iter().copied().zip(&mut cumulated).collect();
        // The iterator must also reach the last bucket, which has no bound, to complete `count`.
        cumulated.for_each(drop);
        let sum = Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed));
        HistogramCounts { buckets, count, sum }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative_and_include_their_bounds() {
        let histogram = DurationHistogram::new(&[0.001, 0.5]);
        for milliseconds in [0, 1, 2, 500, 501, 90_000] {
            histogram.record(Duration::from_millis(milliseconds));
        }
        let HistogramCounts { buckets, count, sum } = histogram.read();
        assert_eq!(buckets, [(0.001, 2), (0.5, 4)]);
        assert_eq!((count, sum), (6, Duration::from_millis(91_004)));
    }

    #[test]
    fn bounds_are_ascending() {
        for bounds in
            [DurationHistogram::FAST_BOUNDS_SECONDS, DurationHistogram::SLOW_BOUNDS_SECONDS]
        {
            assert!(bounds.is_sorted_by(|one, next| one < next), "{bounds:?}");
        }
    }
}
