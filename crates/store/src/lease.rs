//! Leases and the keys that are attached to them.

use alloc::collections::{BTreeMap, BTreeSet};

use crate::bytes::Bytes;

/// Id of a lease. 0 means no lease.
pub type LeaseId = u64;

/// Maximum TTL of a lease, in seconds.
pub const MAX_TTL_SECONDS: u64 = 9_000_000_000;

/// A lease. The store has no clock, so the leader counts the remaining time of leases. When a lease
/// expires, the leader proposes a command that ends the lease.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Lease {
    /// Time to live, in seconds.
    pub ttl: u64,
    /// Remaining time in seconds, as the log last recorded it. This is the TTL, or the time in the
    /// last checkpoint. A new leader starts its timer with this time. If this time is less than the
    /// TTL, the leader must record a renewal in the log before it confirms the renewal.
    pub left: u64,
    /// Index of the log entry that granted the lease, or of the last entry that recorded its full
    /// TTL. A renewal that the leader does not record in the log does not change this index.
    pub renewal_index: u64,
    /// Keys that are attached to the lease. Snapshots omit them, because each key names its lease.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub keys: BTreeSet<Bytes>,
}

impl Lease {
    #[cfg(feature = "serde")]
    pub(crate) fn without_keys(&self) -> Self {
        let Lease { ttl, left, renewal_index, .. } = *self;
        Lease { ttl, left, renewal_index, keys: BTreeSet::new() }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Leases(pub(crate) BTreeMap<LeaseId, Lease>);

impl Leases {
    pub(crate) fn exists(&self, lease: LeaseId) -> bool {
        self.0.contains_key(&lease)
    }

    /// Detaches a key from the lease `from` and attaches it to the lease `to`. 0 means no lease. A
    /// lease that does not exist is ignored.
    pub(crate) fn change_lease_of_key(&mut self, key: &Bytes, from: LeaseId, to: LeaseId) {
        if from == to {
            return;
        }
        if let Some(lease) = self.0.get_mut(&from) {
            lease.keys.remove(key);
        }
        if let Some(lease) = self.0.get_mut(&to) {
            lease.keys.insert(key.clone());
        }
    }
}
