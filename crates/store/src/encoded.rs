//! A snapshot of a store as bytes.

use core::fmt;

use alloc::vec::Vec;

use crate::snapshot::Snapshot;
use crate::store::Store;

/// With what every snapshot begins: the name and the version of its form.
const MAGIC: &[u8; 8] = b"tnstore\x04";

/// The version before: a snapshot without alarms, which were added at its end.
const WITHOUT_ALARMS: &[u8; 8] = b"tnstore\x03";

/// These bytes are no snapshot that this version can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DamagedSnapshot;

impl fmt::Display for DamagedSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("these bytes are no snapshot of a store that this version can read")
    }
}

impl core::error::Error for DamagedSnapshot {}

impl Snapshot {
    /// The store as bytes. Equal stores are equal bytes.
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_extend(self, MAGIC.to_vec()).expect("a vector takes whatever comes")
    }
}

/// Decodes a store of which the bytes are all.
fn whole(body: &[u8]) -> Result<Store, DamagedSnapshot> {
    let (store, rest) = postcard::take_from_bytes(body).map_err(|_| DamagedSnapshot)?;
    if rest.is_empty() { Ok(store) } else { Err(DamagedSnapshot) }
}

impl Store {
    /// The store that was written as these bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, DamagedSnapshot> {
        if let Some(body) = bytes.strip_prefix(MAGIC) {
            return whole(body);
        }
        let body = bytes.strip_prefix(WITHOUT_ALARMS).ok_or(DamagedSnapshot)?;
        // The length of an empty set of alarms.
        whole(&[body, &[0]].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Command, Put};
    use crate::store::At;

    #[test]
    fn reads_snapshots_of_the_version_before() {
        let mut store = Store::default();
        let put = Put { key: "a".into(), value: "1".into(), ..Put::default() };
        let outcome = store.apply(At { index: 1, term: 1 }, Command::Put(put));
        assert!(outcome.answer.is_ok());
        let bytes = store.snapshot().encode();
        let body = bytes.strip_prefix(MAGIC).and_then(|body| body.strip_suffix(&[0]));
        let body = body.expect("a snapshot that ends with no alarms");
        assert_eq!(Store::decode(&[&WITHOUT_ALARMS[..], body].concat()), Ok(store));
    }
}
