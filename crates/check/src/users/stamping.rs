//! Messages of the application that carry the protocol's logical clock.

use tenure_core::{Protocol, Stamped};

/// The functions of a [`Stamped`] protocol, by pointer: a check of one that is not carries none.
pub(crate) struct Stamping<P: Protocol> {
    pub(crate) clock: fn(&P) -> u64,
    pub(crate) observe: fn(&mut P, u64),
}

impl<P: Stamped> Stamping<P> {
    pub(crate) fn new() -> Self {
        Stamping { clock: P::clock, observe: P::observe }
    }
}

impl<P: Protocol> Clone for Stamping<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Protocol> Copy for Stamping<P> {}
