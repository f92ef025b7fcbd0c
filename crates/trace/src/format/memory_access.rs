//! Accesses of processes to the registers of a shared memory.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One atomic access of a process to a register.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryAccess {
    /// Kind of the access.
    pub operation: MemoryOperation,
    /// Register, such as `TURN` or `Q[1]`.
    pub register: String,
    /// For a write, the value that the access wrote. For other operations, the value of the
    /// register before the access.
    pub value: u64,
}

/// Operation of an access to a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryOperation {
    /// Reads the value.
    Read,
    /// Writes the value.
    Write,
    /// Writes 1 and returns the value before, as one operation.
    TestAndSet,
}

/// Writes the access in the notation of pseudo-code: `Q[1] := 1` for a write, `Q[2] = 0` for a
/// read.
impl fmt::Display for MemoryAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MemoryAccess { operation, register, value } = self;
        match operation {
            MemoryOperation::Read => write!(f, "{register} = {value}"),
            MemoryOperation::Write => write!(f, "{register} := {value}"),
            MemoryOperation::TestAndSet => write!(f, "test-and-set {register} = {value}"),
        }
    }
}
