//! Records of the times at which holders claimed a lock, and the clock of these records.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// Time during which a process claimed to hold a lock.
///
/// The locks of a group exclude each other. At any time, the sum of the weights of all claims in
/// the group must not exceed `capacity`. An exclusive lock has weight and capacity 1. The weight of
/// a writer's claim equals the capacity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ClaimRecord {
    pub(super) group: String,
    pub(super) key: String,
    pub(super) fence: u64,
    pub(super) weight: u64,
    pub(super) capacity: u64,
    /// Time at which the process acquired the lock, on the clock of [`now`].
    pub(super) granted: u64,
    /// Time until which the process claimed to hold the lock, on the clock of [`now`]. This is the
    /// last deadline or the time of the release, whichever is earlier.
    pub(super) until: u64,
}

/// Longest time that one attempt to read both clocks may take, in nanoseconds. An attempt reads the
/// shared clock, then the clock of `Instant`, and then the shared clock a second time. An attempt
/// that takes longer is repeated.
const MAX_READ_DIFFERENCE: u64 = 100_000;

/// Returns the time on the clock that all processes of this machine share, in nanoseconds.
pub(super) fn now() -> u64 {
    let time = Duration::try_from(clock_gettime(ClockId::Monotonic)).expect("a time after boot");
    u64::try_from(time.as_nanos()).expect("less than 500 years")
}

/// Converts a time to the clock of [`now`]. The result is at most 0.1 ms too early, and never too
/// late. If `time` is before the first call of this function, returns the time of the first call.
pub(super) fn nanoseconds(time: Instant) -> u64 {
    static ORIGIN: OnceLock<(u64, Instant)> = OnceLock::new();
    // The process may be suspended between the two reads.
    let (shared, own) = ORIGIN.get_or_init(|| {
        loop {
            let (before, own, after) = (now(), Instant::now(), now());
            if after - before <= MAX_READ_DIFFERENCE {
                return (before, own);
            }
        }
    });
    match time.checked_duration_since(*own) {
        Some(later) => shared + u64::try_from(later.as_nanos()).expect("a short run"),
        None => *shared,
    }
}
