//! Records of values that clients put and read.

use std::hash::{DefaultHasher, Hasher};

use serde::{Deserialize, Serialize};

/// Identification of a value by its size and hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Value {
    pub(super) bytes: usize,
    hash: u64,
}

impl Value {
    pub(super) fn of(bytes: &[u8]) -> Value {
        let mut hasher = DefaultHasher::new();
        hasher.write(bytes);
        Value { bytes: bytes.len(), hash: hasher.finish() }
    }
}

/// A put of a value at one member, as its client observed it. All times are in nanoseconds since
/// 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PutRecord {
    pub(super) key: String,
    pub(super) value: Value,
    /// Time of the request.
    pub(super) requested: u64,
    /// Response of the service; `None` if the outcome is unknown.
    pub(super) response: Option<Response>,
}

/// Response to a read or a write, with its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Response {
    /// Time of the response.
    pub(super) at: u64,
    /// Revision of the value.
    pub(super) revision: u64,
}

/// A read of a key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReadRecord {
    pub(super) key: String,
    /// Member that responded.
    pub(super) by: String,
    /// Time of the request.
    pub(super) requested: u64,
    /// Response, with the revision of the value; 0 if there is no value.
    pub(super) response: Response,
    pub(super) value: Option<Value>,
}

/// A message from a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ClientMessage {
    Put(PutRecord),
    Read(ReadRecord),
}
