//! Configuration inside a state.

use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Deref;

use alloc::sync::Arc;

/// Shared configuration that a state carries for later use: equal to any other, hashes to
/// nothing, and costs a pointer to clone.
///
/// Two states of one run have the same configuration, so comparing it would only cost time.
pub struct Fixed<C: ?Sized>(Arc<C>);

impl<C> Fixed<C> {
    /// Shares a configuration.
    pub fn new(config: C) -> Self {
        Fixed(Arc::new(config))
    }
}

impl<C: ?Sized> From<Arc<C>> for Fixed<C> {
    fn from(config: Arc<C>) -> Self {
        Fixed(config)
    }
}

impl<C: ?Sized> Clone for Fixed<C> {
    fn clone(&self) -> Self {
        Fixed(Arc::clone(&self.0))
    }
}

impl<C: ?Sized> Deref for Fixed<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.0
    }
}

impl<C: ?Sized> PartialEq for Fixed<C> {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl<C: ?Sized> Eq for Fixed<C> {}

impl<C: ?Sized> Hash for Fixed<C> {
    fn hash<H: Hasher>(&self, _state: &mut H) {}
}

impl<C: ?Sized> fmt::Debug for Fixed<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("fixed")
    }
}
