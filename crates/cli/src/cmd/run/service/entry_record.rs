//! The record of a critical-section entry, as the client that entered observed it.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use tenure_trace::unix_time_nanos;

/// A critical-section entry. All times are in nanoseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EntryRecord {
    /// Number of the client that entered, from 1.
    pub(super) client: u32,
    /// Time at which the client began to acquire the lock. This includes the start of a session, if
    /// the client has none. If the run has no lock, it is the time before the first access.
    pub(super) requested: u64,
    /// Time at which the client acquired the lock; 0 if the run has no lock.
    pub(super) granted: u64,
    /// Fencing token of the entry; 0 if the run has no lock.
    pub(super) fence: u64,
    /// Key of the claim in the store; empty if the run has no lock.
    pub(super) key: String,
    /// Time at which the client began its first access to the resource.
    pub(super) accessed: u64,
    /// Time at which the client received the confirmation of its write to the resource. `None` if
    /// the resource did not confirm the write.
    pub(super) written: Option<u64>,
    /// True if the resource rejected an access because of a stale fencing token.
    pub(super) refused: bool,
    /// Time until which the client believed that it held the lock. If the run has no lock, it is
    /// the time after the last access of the client to the resource.
    pub(super) until: u64,
    /// True if the service confirmed to the client that the lock was released. False if the client
    /// kept its session, or if the outcome of the release is unknown.
    pub(super) left: bool,
}

/// Returns the current time or `deadline`, whichever is earlier, in nanoseconds since 1970. Returns
/// the current time if `deadline` is `None`.
pub(super) fn now_or_deadline(deadline: Option<Instant>) -> u64 {
    match deadline {
        Some(deadline) if deadline <= Instant::now() => {
            let over = u64::try_from(deadline.elapsed().as_nanos()).unwrap_or(u64::MAX);
            unix_time_nanos().saturating_sub(over)
        }
        _ => unix_time_nanos(),
    }
}
