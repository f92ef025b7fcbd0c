//! What is said of values: who put which, and who found which.

use std::hash::{DefaultHasher, Hasher};

use serde::{Deserialize, Serialize};

/// What a value is known by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Value {
    pub(super) bytes: usize,
    print: u64,
}

impl Value {
    pub(super) fn of(bytes: &[u8]) -> Value {
        let mut hasher = DefaultHasher::new();
        hasher.write(bytes);
        Value { bytes: bytes.len(), print: hasher.finish() }
    }
}

/// A value that was put, once and at one member, as its client saw it. All times are in
/// nanoseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Put {
    pub(super) key: String,
    pub(super) value: Value,
    /// When that was asked.
    pub(super) asked: u64,
    /// What the service confirmed; nothing where nobody knows what came of it.
    pub(super) told: Option<Told>,
}

/// An answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Told {
    /// When it came.
    pub(super) at: u64,
    /// The revision in which the value was put.
    pub(super) revision: u64,
}

/// What somebody found at a key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    pub(super) key: String,
    /// Who answered.
    pub(super) by: String,
    /// When that was asked.
    pub(super) asked: u64,
    /// When it was answered, and with which revision; 0 where there is no value.
    pub(super) told: Told,
    pub(super) value: Option<Value>,
}

/// What a client says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Word {
    Put(Put),
    Seen(Seen),
}
