//! Records of values that clients put and read.

use std::hash::{DefaultHasher, Hasher};

use serde::{Deserialize, Serialize};

/// A value, represented by its size and its hash. Equal digests are taken as equal values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ValueDigest {
    pub(super) bytes: usize,
    hash: u64,
}

impl ValueDigest {
    pub(super) fn of(bytes: &[u8]) -> ValueDigest {
        let mut hasher = DefaultHasher::new();
        hasher.write(bytes);
        ValueDigest { bytes: bytes.len(), hash: hasher.finish() }
    }
}

/// A put of a value, as the client observed it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PutRecord {
    pub(super) key: String,
    pub(super) value: ValueDigest,
    pub(super) requested: u64,
    /// Response of the service; `None` if there was no response, so that the outcome is unknown.
    pub(super) response: Option<ResponseRecord>,
}

/// Response to a put or a read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ResponseRecord {
    /// Time at which the client received the response, in nanoseconds since 1970.
    pub(super) at: u64,
    /// For a put, the revision that the put created. For a read, the revision of the last change of
    /// the value.
    pub(super) revision: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReadRecord {
    pub(super) key: String,
    /// URL of the member that the client read from.
    pub(super) by: String,
    /// Time at which the client sent the request, in nanoseconds since 1970.
    pub(super) requested: u64,
    /// Response of the member. The revision in it is 0 if the key has no value.
    pub(super) response: ResponseRecord,
    /// Value that was read; `None` if the key has no value.
    pub(super) value: Option<ValueDigest>,
}

/// Record of a put or a read. A client process prints such records as lines of JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ValueOperationRecord {
    Put(PutRecord),
    Read(ReadRecord),
}
