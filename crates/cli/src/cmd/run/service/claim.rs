//! What a client says of one time that it was inside.

use std::time::{Instant, SystemTime};

use serde::{Deserialize, Serialize};

/// One entry, as its client saw it. All times are in nanoseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Claim {
    /// Its number, from 1.
    pub(super) client: u32,
    /// When it asked for the lock.
    pub(super) asked: u64,
    /// When it was inside.
    pub(super) granted: u64,
    /// By which fence; 0 without a lock.
    pub(super) fence: u64,
    /// The key of the claim.
    pub(super) key: String,
    /// Before the first access to the resource was sent.
    pub(super) accessed: u64,
    /// Whether the resource took what was written, and when that was known.
    pub(super) written: Option<u64>,
    /// Whether the resource refused it.
    pub(super) refused: bool,
    /// Until when it claimed to be inside.
    pub(super) until: u64,
    /// Whether the service confirmed that it left.
    pub(super) left: bool,
}

/// This moment.
pub(super) fn now() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

/// This moment, or the deadline if that was before.
pub(super) fn now_or(deadline: Option<Instant>) -> u64 {
    match deadline {
        Some(deadline) if deadline <= Instant::now() => {
            let over = u64::try_from(deadline.elapsed().as_nanos()).unwrap_or(u64::MAX);
            now().saturating_sub(over)
        }
        _ => now(),
    }
}
