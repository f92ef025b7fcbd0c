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
pub struct SharedConfig<C: ?Sized>(Arc<C>);

impl<C> SharedConfig<C> {
    /// Creates a shared pointer to this configuration.
    pub fn new(config: C) -> Self {
        SharedConfig(Arc::new(config))
    }
}

impl<C: ?Sized> From<Arc<C>> for SharedConfig<C> {
    fn from(config: Arc<C>) -> Self {
        SharedConfig(config)
    }
}

impl<C: ?Sized> Clone for SharedConfig<C> {
    fn clone(&self) -> Self {
        SharedConfig(Arc::clone(&self.0))
    }
}

impl<C: ?Sized> Deref for SharedConfig<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.0
    }
}

impl<C: ?Sized> PartialEq for SharedConfig<C> {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl<C: ?Sized> Eq for SharedConfig<C> {}

impl<C: ?Sized> Hash for SharedConfig<C> {
    fn hash<H: Hasher>(&self, _state: &mut H) {}
}

impl<C: ?Sized> fmt::Debug for SharedConfig<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("fixed")
    }
}
