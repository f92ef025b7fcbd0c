//! A process that ends when its owner drops it.

use std::ops::{Deref, DerefMut};
use std::process::Child;

/// A process that is killed when this value is dropped.
#[derive(Debug)]
pub(crate) struct Killed(pub(crate) Child);

impl Deref for Killed {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Killed {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
