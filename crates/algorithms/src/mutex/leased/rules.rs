//! Rules of the lock, each with the variants that change it. [`VariantId::EarlyRelease`] is sound.
//! Each other variant breaks a rule on which the correctness of the lock depends.

use super::config::{LEASE_PARTS, VariantId};
use super::{LockPolicy, SessionLock};

impl<L: LockPolicy> SessionLock<L> {
    /// Returns true if a waiting client notices that its session has ended.
    pub(super) fn notices_session_end(&self) -> bool {
        !self.has_variant(VariantId::GrantToDeadSession)
    }

    /// Returns true if the service grants the lock to the next process before the end of the
    /// previous lease is committed.
    pub(super) fn releases_early(&self) -> bool {
        self.has_variant(VariantId::EarlyRelease)
    }

    /// Returns true if a release shows that no process is inside the critical section. By the
    /// correct rule, the client that released the lock must have been inside (`was_inside`). A
    /// variant with a mistake accepts every release.
    pub(super) fn leaves_none_inside(&self, was_inside: bool) -> bool {
        was_inside || self.has_variant(VariantId::AnyRelease)
    }

    /// Returns true if a leader must confirm that it still leads before it answers a renewal.
    pub(super) fn confirms_leadership(&self) -> bool {
        !self.has_variant(VariantId::DeposedRenews)
    }

    /// Returns true if each renewal that the service answers extends the lease. A variant with a
    /// mistake answers renewals, but the lease ends as if they had not arrived.
    pub(super) fn renewals_extend_leases(&self) -> bool {
        !self.has_variant(VariantId::ExpiryDisregardsRenewal)
    }

    /// Returns true if the service commits the remaining time of a lease after each part. A lease
    /// has [`LEASE_PARTS`] parts.
    pub(super) fn records_remaining_time(&self) -> bool {
        !self.has_variant(VariantId::TtlJumpsBack)
    }

    /// Returns the number of remaining parts of a lease after a change of the leader. The lease
    /// expires when these parts have passed. `left` is the number of remaining parts that the old
    /// leader has recorded. The result is at least 1.
    pub(super) fn remaining_parts_after_failover(&self, left: u64) -> u64 {
        if self.has_variant(VariantId::TtlJumpsBack) {
            LEASE_PARTS
        } else {
            left.clamp(1, LEASE_PARTS)
        }
    }

    /// Returns the first revision whose deletions a watch reports. By the correct rule, this
    /// revision is `from`, because the watcher has read the store at revision `from - 1`. A variant
    /// watches from 0 by mistake, which reports only deletions after the watch has started.
    pub(super) fn watch_start_revision(&self, from: u64) -> u64 {
        if self.has_variant(VariantId::WatchFromWrongRevision) { 0 } else { from }
    }
}
