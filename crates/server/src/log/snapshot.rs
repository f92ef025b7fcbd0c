//! Encodes and decodes the snapshot that replaces the beginning of the log. The snapshot contains
//! the client URLs of the members, and the store.

use tenure_store::{Snapshot, SnapshotDecodeError, Store};

use crate::log::state::ClientUrlsByProcess;

pub(crate) fn encode(urls: &ClientUrlsByProcess, store: &Snapshot) -> Vec<u8> {
    let head = postcard::to_stdvec(urls).expect("URLs have an encoding");
    [head, store.encode()].concat()
}

pub(crate) fn decode(bytes: &[u8]) -> Result<(ClientUrlsByProcess, Store), SnapshotDecodeError> {
    let (urls, store) = postcard::take_from_bytes(bytes).map_err(|_| SnapshotDecodeError)?;
    Ok((urls, Store::decode_snapshot(store)?))
}
