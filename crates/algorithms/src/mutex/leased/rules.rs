//! Rules on which the correctness of the lock depends, each with the variants that break it.

use super::config::{LEASE_PARTS, Switch};
use super::{LeasedLock, LockKind};

impl<L: LockKind> LeasedLock<L> {
    /// Returns true if a waiting client notices that its session has ended.
    pub(super) fn notices_session_end(&self) -> bool {
        !self.has(Switch::GrantToDeadSession)
    }

    /// Returns true if the service grants the lock to the next process before the end of the
    /// previous lease is committed.
    pub(super) fn releases_early(&self) -> bool {
        self.has(Switch::EarlyRelease)
    }

    /// Returns true if the service may conclude from a release that no process is inside the
    /// critical section. Unless a variant changes the rule, it may do so only if the client that
    /// released the lock was inside (`was_inside`).
    pub(super) fn leaves_none_inside(&self, was_inside: bool) -> bool {
        was_inside || self.has(Switch::AnyRelease)
    }

    /// Returns true if a leader, before it answers a renewal, confirms that it still leads.
    pub(super) fn confirms_leadership(&self) -> bool {
        !self.has(Switch::DeposedRenews)
    }

    /// Returns true if a renewal extends a lease whose expiry is being committed.
    pub(super) fn honours_renewals(&self) -> bool {
        !self.has(Switch::ExpiryDisregardsRenewal)
    }

    /// Returns true if the service commits the remaining time of a lease after each of the
    /// [`LEASE_PARTS`] parts into which it divides the lease.
    pub(super) fn records_remaining(&self) -> bool {
        !self.has(Switch::TtlJumpsBack)
    }

    /// Returns the number of parts of a lease for which a new leader waits before the lease
    /// expires. `left` is the number of remaining parts that the old leader has recorded.
    pub(super) fn remaining_after_failover(&self, left: u64) -> u64 {
        if self.has(Switch::TtlJumpsBack) { LEASE_PARTS } else { left.clamp(1, LEASE_PARTS) }
    }

    /// Returns the first revision at which a watch reports deletions. Unless a variant changes the
    /// rule, this is `from`, because the watcher has seen the key at revision `from - 1`.
    pub(super) fn watch_start(&self, from: u64) -> u64 {
        if self.has(Switch::WatchFromWrongRevision) { 0 } else { from }
    }
}
