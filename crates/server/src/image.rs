//! What a member has come to, as bytes: what stands for the head of its log.

use tenure_store::{DamagedSnapshot, Snapshot, Store};

use crate::state::Urls;

/// A store, and where clients reach members.
pub(crate) fn write(urls: &Urls, store: &Snapshot) -> Vec<u8> {
    let head = postcard::to_stdvec(urls).expect("URLs can be encoded");
    [head, store.encode()].concat()
}

/// What was written as these bytes.
pub(crate) fn read(bytes: &[u8]) -> Result<(Urls, Store), DamagedSnapshot> {
    let (urls, store) = postcard::take_from_bytes(bytes).map_err(|_| DamagedSnapshot)?;
    Ok((urls, Store::decode(store)?))
}
