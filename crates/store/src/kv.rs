//! A key as it is, and a change to one.

use alloc::sync::Arc;

use crate::bytes::Bytes;
use crate::lease::LeaseId;

/// A key as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct KeyValue {
    /// Its name.
    pub key: Bytes,
    /// What it is.
    pub value: Bytes,
    /// The revision in which it came to be: of a claim, its fence.
    pub create_revision: u64,
    /// The revision in which it was written last; of one that was deleted, the one of that.
    pub mod_revision: u64,
    /// How often it was written since it came to be; 0 for one that was deleted.
    pub version: u64,
    /// The lease with which it ends; 0 for none.
    pub lease: LeaseId,
}

impl KeyValue {
    /// How many bytes its name and its value have.
    pub fn weight(&self) -> usize {
        self.key.len() + self.value.len()
    }

    /// The same, but for its value.
    pub(crate) fn without_value(&self) -> Self {
        KeyValue { value: Bytes::default(), ..self.clone() }
    }

    /// What is left of a key that is deleted in a revision.
    pub(crate) fn tombstone(&self, revision: u64) -> Self {
        KeyValue { key: self.key.clone(), mod_revision: revision, ..KeyValue::default() }
    }
}

/// A change to a key, which watchers are told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Event {
    /// What was done.
    pub kind: Kind,
    /// The key as it is now; of one that was deleted its name and the revision of that.
    pub kv: Arc<KeyValue>,
    /// The key as it was.
    pub prev: Option<Arc<KeyValue>>,
}

/// What was done to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Kind {
    /// It was written.
    Put,
    /// It was deleted.
    Delete,
}

impl Event {
    /// In which revision.
    pub fn revision(&self) -> u64 {
        self.kv.mod_revision
    }
}
