//! Keys with their attributes, and events.

use alloc::sync::Arc;

use crate::bytes::Bytes;
use crate::lease::LeaseId;

/// A key with its value and attributes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct KeyValue {
    /// Name of the key.
    pub key: Bytes,
    /// Value of the key.
    pub value: Bytes,
    /// Revision in which the key was created: the fencing token of a claim.
    pub create_revision: u64,
    /// Revision of the last change, or of the deletion.
    pub mod_revision: u64,
    /// Number of writes since the creation; 0 for a deleted key.
    pub version: u64,
    /// Lease to which the key is attached; 0 for none.
    pub lease: LeaseId,
}

impl KeyValue {
    /// Returns the size of the key and the value, in bytes.
    pub fn size(&self) -> usize {
        self.key.len() + self.value.len()
    }

    /// Returns a copy without the value.
    pub(crate) fn without_value(&self) -> Self {
        KeyValue { value: Bytes::default(), ..self.clone() }
    }

    /// Returns the representation of the key after its deletion in a revision.
    pub(crate) fn tombstone(&self, revision: u64) -> Self {
        KeyValue { key: self.key.clone(), mod_revision: revision, ..KeyValue::default() }
    }
}

/// An event: a change of a key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Event {
    /// Kind of the change.
    pub kind: EventKind,
    /// Key after the change; for a deletion only its name and revision.
    pub kv: Arc<KeyValue>,
    /// Key before the change.
    pub prev: Option<Arc<KeyValue>>,
}

/// Kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum EventKind {
    /// The key was written.
    Put,
    /// The key was deleted.
    Delete,
}

impl Event {
    /// Returns the revision of the change.
    pub fn revision(&self) -> u64 {
        self.kv.mod_revision
    }
}
