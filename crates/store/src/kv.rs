//! Keys with their values and attributes, and the events that record their changes.

use alloc::sync::Arc;

use crate::bytes::Bytes;
use crate::lease::LeaseId;

/// A key with its value and attributes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct KeyValue {
    /// Name of the key.
    pub key: Bytes,
    /// Value of the key. Empty if the key is deleted, or if a read has requested only the keys.
    pub value: Bytes,
    /// Revision in which the key was created; 0 for a deleted key. It is the fencing token if the
    /// key is a claim.
    pub create_revision: u64,
    /// Revision in which the key was last written or was deleted.
    pub mod_revision: u64,
    /// Number of writes of the key since its creation, including the write that created it. 0 for a
    /// deleted key.
    pub version: u64,
    /// Lease to which the key is attached; 0 for none, and for a deleted key.
    pub lease: LeaseId,
}

impl KeyValue {
    /// Returns the size of the key and the value, in bytes.
    pub fn size(&self) -> usize {
        self.key.len() + self.value.len()
    }

    pub(crate) fn without_value(&self) -> Self {
        KeyValue { value: Bytes::default(), ..self.clone() }
    }

    /// Returns the state of the key after its deletion in `revision`. The event of the deletion
    /// contains this state.
    pub(crate) fn tombstone(&self, revision: u64) -> Self {
        KeyValue { key: self.key.clone(), mod_revision: revision, ..KeyValue::default() }
    }
}

/// An event: one key was written or deleted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Event {
    /// Kind of the change: a write or a deletion.
    pub kind: EventKind,
    /// State of the key after the change. After a deletion, only `key` and `mod_revision` are set.
    pub kv: Arc<KeyValue>,
    /// State of the key before the change. `None` if the key did not exist, or if
    /// [`WatchFilter::filter_event`](crate::WatchFilter::filter_event) has removed this state.
    pub prev: Option<Arc<KeyValue>>,
}

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum EventKind {
    /// The key was written.
    Put,
    /// The key was deleted.
    Delete,
}

impl Event {
    /// Returns the revision in which the key was changed.
    pub fn revision(&self) -> u64 {
        self.kv.mod_revision
    }
}
