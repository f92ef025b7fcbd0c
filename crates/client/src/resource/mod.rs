//! The side of a resource: comparison of fencing tokens, so that a former holder is rejected.

pub(crate) mod fence_error;
pub(crate) mod fence_file;
#[cfg(feature = "tower")]
pub(crate) mod fence_layer;
#[cfg(feature = "tower")]
pub(crate) mod fence_registry;
