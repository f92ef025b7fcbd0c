//! Leases: how long they last, and which keys end with them.

use alloc::collections::{BTreeMap, BTreeSet};

use crate::bytes::Bytes;

/// The name of a lease; 0 is none.
pub type LeaseId = u64;

/// The longest that a lease may last, in seconds.
pub const LONGEST_TTL: u64 = 9_000_000_000;

/// A lease. Its time is not here: the leader of a term has that, and says what comes of it by
/// commands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Lease {
    /// How long it lasts without a renewal, in seconds.
    pub ttl: u64,
    /// From how many seconds a new leader counts: all, or what a checkpoint has noted. Before a
    /// renewal of one that has less than all is answered, all has to be noted.
    pub left: u64,
    /// The index of the entry that granted it, or last renewed it or noted what is left.
    pub renewed: u64,
    /// The keys that end with it. They are not written with it, as each knows its lease.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub keys: BTreeSet<Bytes>,
}

impl Lease {
    /// The same, but for its keys.
    #[cfg(feature = "serde")]
    pub(crate) fn without_keys(&self) -> Self {
        let Lease { ttl, left, renewed, .. } = *self;
        Lease { ttl, left, renewed, keys: BTreeSet::new() }
    }
}

/// All leases.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Leases(pub(crate) BTreeMap<LeaseId, Lease>);

impl Leases {
    pub(crate) fn exists(&self, lease: LeaseId) -> bool {
        self.0.contains_key(&lease)
    }

    /// A key that ended with the one lease, or with none, ends with the other.
    pub(crate) fn moves(&mut self, key: &Bytes, from: LeaseId, to: LeaseId) {
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
