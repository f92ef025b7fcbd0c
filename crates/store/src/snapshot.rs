//! Snapshots of a store. New and lagging members receive a snapshot instead of the log.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize, Serializer};

use crate::access::AccessControl;
use crate::alarm::ActiveAlarms;
use crate::history::{EventHistory, StoreLimits};
use crate::kv::{Event, EventKind, KeyValue};
use crate::lease::{Lease, LeaseId, Leases};
use crate::queue::{LockQueueUpdate, LockQueues};
use crate::size::quota_key_size;
use crate::store::{LogPosition, Store};

/// A snapshot of a store. It shares keys and events with the store. It omits all state that can be
/// derived from keys and events. If a store has many leases, [`Store::snapshot`] takes about a
/// tenth of the time of a copy of the store.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Snapshot {
    limits: StoreLimits,
    applied: LogPosition,
    revision: u64,
    keys: Vec<Arc<KeyValue>>,
    history: EventHistory,
    /// Leases without their attached keys. Each key contains the id of its lease, so the reader of
    /// a snapshot attaches the keys to the leases again.
    leases: Vec<(LeaseId, Lease)>,
    access: Arc<AccessControl>,
    /// Active alarms. This field must stay the last one, because snapshots of version 3 end before
    /// the alarms.
    alarms: ActiveAlarms,
}

impl Snapshot {
    /// Returns the revision of the store in this snapshot.
    pub fn revision(&self) -> u64 {
        self.revision
    }
}

impl Store {
    /// Takes a snapshot of the store.
    pub fn snapshot(&self) -> Snapshot {
        let leases = self.leases();
        Snapshot {
            limits: self.limits,
            applied: self.applied,
            revision: self.revision,
            keys: self.keys.values().cloned().collect(),
            history: self.history.clone(),
            leases: leases.map(|(name, lease)| (name, lease.without_keys())).collect(),
            access: self.access.clone(),
            alarms: self.alarms.clone(),
        }
    }
}

impl From<Snapshot> for Store {
    fn from(snapshot: Snapshot) -> Self {
        let Snapshot { limits, applied, revision, keys: list, history, leases, access, alarms } =
            snapshot;
        let history = history.with_recomputed_size();
        let key_bytes = list.iter().map(|kv| quota_key_size(kv)).sum();
        let keys: BTreeMap<_, _> = list.into_iter().map(|kv| (kv.key.clone(), kv)).collect();
        let mut leases = Leases(leases.into_iter().collect());
        let (mut queues, mut changes) = (LockQueues::default(), LockQueueUpdate::default());
        for kv in keys.values() {
            leases.change_lease_of_key(&kv.key, 0, kv.lease);
            let event = Event { kind: EventKind::Put, kv: kv.clone(), prev: None };
            queues.apply_event(&event, |span| Store::keys_in_span(&keys, span), &mut changes);
        }
        queues.grant_waiting(&mut changes);
        Store {
            limits,
            applied,
            revision,
            keys,
            key_bytes,
            history,
            leases,
            access,
            alarms,
            queues,
        }
    }
}

impl Serialize for Store {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.snapshot().serialize(to)
    }
}
