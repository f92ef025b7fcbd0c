//! A snapshot of a store as bytes.

use core::fmt;

use alloc::vec::Vec;

use crate::snapshot::Snapshot;
use crate::store::Store;

/// With what every snapshot begins: the name and the version of its form.
const MAGIC: &[u8; 8] = b"tnstore\x03";

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

impl Store {
    /// The store that was written as these bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, DamagedSnapshot> {
        let body = bytes.strip_prefix(MAGIC).ok_or(DamagedSnapshot)?;
        let (store, rest) = postcard::take_from_bytes(body).map_err(|_| DamagedSnapshot)?;
        if rest.is_empty() { Ok(store) } else { Err(DamagedSnapshot) }
    }
}
