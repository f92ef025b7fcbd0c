//! How often a state was saved, and how long that took.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What can be read of the saving of a [`Store`](super::Store) from anywhere: for metrics and
/// status pages. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Saves(Arc<Figures>);

#[derive(Debug, Default)]
struct Figures {
    count: AtomicU64,
    nanoseconds: AtomicU64,
    longest: AtomicU64,
}

/// What was counted of saving at one moment, from the opening of the store on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SaveCounts {
    /// How often a state was made durable, the beginning of the session included.
    pub count: u64,
    /// How long that took in all, nearly all of it waiting for the disk.
    pub total: Duration,
    /// How long the slowest of them took.
    pub longest: Duration,
}

impl Saves {
    /// What has been counted.
    pub fn read(&self) -> SaveCounts {
        let read = |figure: &AtomicU64| figure.load(Ordering::Relaxed);
        SaveCounts {
            count: read(&self.0.count),
            total: Duration::from_nanos(read(&self.0.nanoseconds)),
            longest: Duration::from_nanos(read(&self.0.longest)),
        }
    }

    pub(super) fn note(&self, took: Duration) {
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.0.count.fetch_add(1, Ordering::Relaxed);
        self.0.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
        self.0.longest.fetch_max(nanoseconds, Ordering::Relaxed);
    }
}
