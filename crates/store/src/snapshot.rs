//! A store as it was: what a new or late member gets instead of the log.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize, Serializer};

use crate::access::Access;
use crate::alarm::Alarms;
use crate::history::{History, Limits};
use crate::kv::{Event, KeyValue, Kind};
use crate::lease::{Lease, LeaseId, Leases};
use crate::queue::{Moves, Queues};
use crate::size::of_key;
use crate::store::{At, Store};

/// A store as it was at some entry. It shares keys and changes with the store that it is of, and
/// has nothing that follows from them: it is made in a tenth of the time of a copy, where many
/// have leases.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Snapshot {
    limits: Limits,
    applied: At,
    revision: u64,
    keys: Vec<Arc<KeyValue>>,
    history: History,
    /// Without their keys: a key knows its lease.
    leases: Vec<(LeaseId, Lease)>,
    access: Arc<Access>,
    /// Last, as snapshots of version 3 end before it.
    alarms: Alarms,
}

impl Snapshot {
    /// How many revisions there were.
    pub fn revision(&self) -> u64 {
        self.revision
    }
}

impl Store {
    /// The store as it is.
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
        let history = history.weighed();
        let key_bytes = list.iter().map(|kv| of_key(kv)).sum();
        let keys: BTreeMap<_, _> = list.into_iter().map(|kv| (kv.key.clone(), kv)).collect();
        let mut leases = Leases(leases.into_iter().collect());
        let (mut queues, mut moves) = (Queues::default(), Moves::default());
        for kv in keys.values() {
            leases.moves(&kv.key, 0, kv.lease);
            let event = Event { kind: Kind::Put, kv: kv.clone(), prev: None };
            queues.note(&event, |span| Store::span(&keys, span), &mut moves);
        }
        queues.settle(&mut moves);
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
