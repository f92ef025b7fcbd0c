//! Serialization of processes by their numbers, counted from 1.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tenure_core::ProcessId;

pub(crate) fn serialize<S: Serializer>(process: &ProcessId, to: S) -> Result<S::Ok, S::Error> {
    process.display_number().serialize(to)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<ProcessId, D::Error> {
    process_from_number(u64::deserialize(from)?)
        .ok_or_else(|| D::Error::custom("processes are numbered from 1"))
}

/// Returns the process with this number, counted from 1. Returns `None` if the number is out of
/// range.
pub(crate) fn process_from_number(number: u64) -> Option<ProcessId> {
    u32::try_from(number.checked_sub(1)?).ok().map(ProcessId)
}
