//! A store as bytes: what a new or late member gets instead of the log.

use core::fmt;

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::history::{History, Limits};
use crate::kv::{Event, KeyValue, Kind};
use crate::lease::Leases;
use crate::queue::{Moves, Queues};
use crate::store::{At, Store};

/// With what every snapshot begins: the name and the version of its form.
const MAGIC: &[u8; 8] = b"tnstore\x01";

/// These bytes are no snapshot that this version can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DamagedSnapshot;

impl fmt::Display for DamagedSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("these bytes are no snapshot of a store that this version can read")
    }
}

impl core::error::Error for DamagedSnapshot {}

/// What is written, in this order. The queues follow from the keys.
type Written<'a> = (&'a Limits, At, u64, Vec<&'a Arc<KeyValue>>, &'a History, &'a Leases);
type Read = (Limits, At, u64, Vec<Arc<KeyValue>>, History, Leases);

impl Store {
    /// The store as bytes. Equal stores are equal bytes.
    pub fn encode(&self) -> Vec<u8> {
        let keys = self.keys.values().collect();
        let all: Written<'_> =
            (&self.limits, self.applied, self.revision, keys, &self.history, &self.leases);
        postcard::to_extend(&all, MAGIC.to_vec()).expect("a vector takes whatever comes")
    }

    /// The store that was written as these bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, DamagedSnapshot> {
        let body = bytes.strip_prefix(MAGIC).ok_or(DamagedSnapshot)?;
        let (read, rest) = postcard::take_from_bytes::<Read>(body).map_err(|_| DamagedSnapshot)?;
        let (limits, applied, revision, list, history, leases) = read;
        if !rest.is_empty() {
            return Err(DamagedSnapshot);
        }
        let keys: BTreeMap<_, _> = list.into_iter().map(|kv| (kv.key.clone(), kv)).collect();
        let (mut queues, mut moves) = (Queues::default(), Moves::default());
        for kv in keys.values() {
            let event = Event { kind: Kind::Put, kv: kv.clone(), prev: None };
            queues.note(&event, |span| Store::span(&keys, span), &mut moves);
        }
        queues.settle(&mut moves);
        Ok(Store { limits, applied, revision, keys, history, leases, queues })
    }
}
