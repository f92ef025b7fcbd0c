//! Fencing tokens at a resource. The resource compares them, and rejects the former holder of a
//! lock.

pub(crate) mod fence_error;
pub(crate) mod fence_file;
#[cfg(feature = "tower")]
pub(crate) mod fence_layer;
#[cfg(feature = "tower")]
pub(crate) mod fence_registry;

use crate::fencing::fence_error::FenceError;

const fn reject_stale(fence: u64, highest: u64) -> Result<(), FenceError> {
    if fence < highest { Err(FenceError::Stale { fence, highest }) } else { Ok(()) }
}
