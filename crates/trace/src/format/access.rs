//! What the resource saw.

use serde::{Deserialize, Serialize};
use tenure_core::{Fence, ProcessId};

use crate::format::numbered;

/// One access to the resource that the lock protects, as the resource saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// Who asked.
    #[serde(with = "numbered")]
    pub by: ProcessId,
    /// For what.
    pub operation: Operation,
    /// The fence that came with it; none in a run without a lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
    /// What was read or written.
    #[serde(default)]
    pub value: u64,
    /// Whether the resource granted it.
    pub accepted: bool,
    /// The highest fence that the resource has seen, this one included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest: Option<Fence>,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Reads the value.
    Get,
    /// Writes the value.
    Put,
}
