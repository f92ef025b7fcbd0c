//! Records of values that clients put and read.

use std::hash::{DefaultHasher, Hasher};

use serde::{Deserialize, Serialize};

/// A value, represented by its size and its hash.
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

/// A put of a value at one member, as its client observed it. All times are in nanoseconds since
/// 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PutRecord {
    pub(super) key: String,
    pub(super) value: ValueDigest,
    pub(super) requested: u64,
    /// Response of the service; `None` if the outcome is unknown.
    pub(super) response: Option<ResponseRecord>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ResponseRecord {
    /// Time at which the client received the response, in nanoseconds since 1970.
    pub(super) at: u64,
    pub(super) revision: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReadRecord {
    pub(super) key: String,
    /// Member that the client asked.
    pub(super) by: String,
    /// Time at which the client sent the request, in nanoseconds since 1970.
    pub(super) requested: u64,
    /// Response of the member. Its revision is 0 if the key has no value.
    pub(super) response: ResponseRecord,
    pub(super) value: Option<ValueDigest>,
}

/// Record of a put or a read, which a client process sends to the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ValueOperationRecord {
    Put(PutRecord),
    Read(ReadRecord),
}
