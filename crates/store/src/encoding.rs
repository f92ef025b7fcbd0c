//! Encoding of snapshots.

use core::fmt;

use alloc::vec::Vec;

use crate::snapshot::Snapshot;
use crate::store::Store;

/// First bytes of a snapshot. They contain the name and the version of the format.
const MAGIC: &[u8; 8] = b"tnstore\x04";

/// First bytes of a snapshot in the previous version of the format, which contains no alarms.
const WITHOUT_ALARMS: &[u8; 8] = b"tnstore\x03";

/// Error: the bytes are not a complete snapshot, or the version of their format is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotDecodeError;

impl fmt::Display for SnapshotDecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("damaged snapshot, or written by an unsupported version")
    }
}

impl core::error::Error for SnapshotDecodeError {}

impl Snapshot {
    /// Encodes the snapshot. Equal stores have equal encodings.
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_extend(self, MAGIC.to_vec()).expect("writing to a vector does not fail")
    }
}

/// Decodes a store. Returns an error if further bytes follow the store.
fn decode_whole(body: &[u8]) -> Result<Store, SnapshotDecodeError> {
    let (store, rest) = postcard::take_from_bytes(body).map_err(|_| SnapshotDecodeError)?;
    if rest.is_empty() { Ok(store) } else { Err(SnapshotDecodeError) }
}

impl Store {
    /// Decodes the store of a snapshot. Accepts the present and the previous version of the format.
    ///
    /// # Errors
    ///
    /// [`SnapshotDecodeError`] if the bytes are not a snapshot of one of these versions, or if
    /// further bytes follow the snapshot.
    pub fn decode_snapshot(bytes: &[u8]) -> Result<Self, SnapshotDecodeError> {
        if let Some(body) = bytes.strip_prefix(MAGIC) {
            return decode_whole(body);
        }
        let body = bytes.strip_prefix(WITHOUT_ALARMS).ok_or(SnapshotDecodeError)?;
        // The zero byte is the encoding of an empty set of alarms.
        decode_whole(&[body, &[0]].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Command, Put};
    use crate::store::LogPosition;

    #[test]
    fn decodes_snapshots_of_the_previous_version() {
        let mut store = Store::default();
        let put = Put { key: "a".into(), value: "1".into(), ..Put::default() };
        let outcome = store.apply(LogPosition { index: 1, term: 1 }, Command::Put(put));
        assert!(outcome.result.is_ok());
        let bytes = store.snapshot().encode();
        let body = bytes.strip_prefix(MAGIC).and_then(|body| body.strip_suffix(&[0]));
        let body = body.expect("a snapshot without alarms");
        assert_eq!(Store::decode_snapshot(&[&WITHOUT_ALARMS[..], body].concat()), Ok(store));
    }
}
