//! Accesses to the resource that the lock protects.

use serde::{Deserialize, Serialize};
use tenure_core::{Fence, ProcessId};

use crate::format::process_number;

/// One access to the resource that the lock protects, as the resource records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceAccessRecord {
    /// Process that accesses the resource.
    #[serde(with = "process_number")]
    pub by: ProcessId,
    /// Operation of the access: reading or writing.
    pub operation: ResourceOperation,
    /// Fence that the process sent with the access. `None` if the process sent no fence, for
    /// example in a run without a lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
    /// Value that the access read or wrote.
    #[serde(default)]
    pub value: u64,
    /// True if the resource accepted the access.
    pub accepted: bool,
    /// Highest fence that the resource has seen, including the fence of this access. `None` if the
    /// resource has seen no fence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest: Option<Fence>,
}

/// Operation of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResourceOperation {
    /// Reads the value.
    Get,
    /// Writes the value.
    Put,
}
