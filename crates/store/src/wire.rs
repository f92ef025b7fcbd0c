//! A store as it is written: all but the queues, which follow from the keys.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::access::Access;
use crate::history::{History, Limits};
use crate::kv::{Event, KeyValue, Kind};
use crate::lease::Leases;
use crate::queue::{Moves, Queues};
use crate::store::{At, Store};

type Written<'a> =
    (&'a Limits, At, u64, Vec<&'a Arc<KeyValue>>, &'a History, &'a Leases, &'a Access);
type Read = (Limits, At, u64, Vec<Arc<KeyValue>>, History, Leases, Arc<Access>);

impl Serialize for Store {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let keys = self.keys.values().collect();
        let Store { limits, history, leases, access, .. } = self;
        let all: Written<'_> = (limits, self.applied, self.revision, keys, history, leases, access);
        all.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Store {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (limits, applied, revision, list, history, leases, access) = Read::deserialize(from)?;
        let history = history.weighed();
        let keys: BTreeMap<_, _> = list.into_iter().map(|kv| (kv.key.clone(), kv)).collect();
        let (mut queues, mut moves) = (Queues::default(), Moves::default());
        for kv in keys.values() {
            let event = Event { kind: Kind::Put, kv: kv.clone(), prev: None };
            queues.note(&event, |span| Store::span(&keys, span), &mut moves);
        }
        queues.settle(&mut moves);
        Ok(Store { limits, applied, revision, keys, history, leases, access, queues })
    }
}
