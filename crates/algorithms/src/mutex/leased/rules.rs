//! Rules that the proof relies on, each with the mistakes that break it.

use super::Leased;
use super::config::{PARTS, Switch};

impl Leased {
    /// Returns true if a waiter notices the end of its session.
    pub(super) fn notices_session_end(&self) -> bool {
        !self.has(Switch::GrantToDeadSession)
    }

    /// Returns true if the next process is granted the lock before the end of the lease is
    /// committed.
    pub(super) fn releases_early(&self) -> bool {
        self.has(Switch::EarlyRelease)
    }

    /// Returns true if the critical section is free after a release. A claim that was not inside
    /// frees nothing.
    pub(super) fn leaves_none_inside(&self, was_inside: bool) -> bool {
        was_inside || self.has(Switch::AnyRelease)
    }

    /// Returns true if a deposed leader discovers this before it answers a renewal.
    pub(super) fn confirms_leadership(&self) -> bool {
        !self.has(Switch::DeposedRenews)
    }

    /// Returns true if a renewal extends the lease.
    pub(super) fn honours_renewals(&self) -> bool {
        !self.has(Switch::ExpiryDisregardsRenewal)
    }

    /// Returns true if the remaining time is recorded when a part of a lease has elapsed.
    pub(super) fn records_remaining(&self) -> bool {
        !self.has(Switch::TtlJumpsBack)
    }

    /// Returns the number of lease parts that a new leader still counts.
    pub(super) fn remaining_after_failover(&self, left: u64) -> u64 {
        if self.has(Switch::TtlJumpsBack) { PARTS } else { left.clamp(1, PARTS) }
    }

    /// Returns the first revision of a watch. The watcher has seen its key at revision `from - 1`.
    pub(super) fn watch_start(&self, from: u64) -> u64 {
        if self.has(Switch::WatchFromWrongRevision) { 0 } else { from }
    }
}
