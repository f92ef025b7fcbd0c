//! Configuration that all states of a run share. Each state contains only a pointer to the
//! configuration.

use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Deref;

use alloc::sync::Arc;

/// Configuration that all states of a run share. A clone copies only a pointer.
///
/// All states of one run have the same configuration, so a comparison of configurations would only
/// cost time. Therefore any two values of this type compare as equal, and hashing a value has no
/// effect.
pub struct UncomparedConfig<C: ?Sized>(Arc<C>);

impl<C> UncomparedConfig<C> {
    /// Creates a shared pointer to this configuration.
    pub fn new(config: C) -> Self {
        UncomparedConfig(Arc::new(config))
    }
}

impl<C: ?Sized> From<Arc<C>> for UncomparedConfig<C> {
    fn from(config: Arc<C>) -> Self {
        UncomparedConfig(config)
    }
}

impl<C: ?Sized> Clone for UncomparedConfig<C> {
    fn clone(&self) -> Self {
        UncomparedConfig(Arc::clone(&self.0))
    }
}

impl<C: ?Sized> Deref for UncomparedConfig<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.0
    }
}

impl<C: ?Sized> PartialEq for UncomparedConfig<C> {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl<C: ?Sized> Eq for UncomparedConfig<C> {}

impl<C: ?Sized> Hash for UncomparedConfig<C> {
    fn hash<H: Hasher>(&self, _state: &mut H) {}
}

impl<C: ?Sized> fmt::Debug for UncomparedConfig<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("fixed")
    }
}
