//! Shifts of a protocol's timestamps.

use tenure_core::{Algorithm, Protocol};

/// Function pointers by which an [`Algorithm`] shifts its timestamps. They exist only in checks
/// that shift.
pub(crate) struct Shifts<P: Protocol> {
    pub(crate) smallest: fn(&P) -> Option<u64>,
    pub(crate) shift: fn(&mut P, u64),
    pub(crate) smallest_in_message: fn(&P::Config, &P::Message) -> Option<u64>,
    pub(crate) shift_message: fn(&P::Config, &mut P::Message, u64),
    pub(crate) smallest_in_stable: fn(&P::Config, &P::Stable) -> Option<u64>,
    pub(crate) shift_stable: fn(&P::Config, &mut P::Stable, u64),
}

impl<P: Algorithm> Shifts<P> {
    pub(crate) fn new() -> Self {
        Shifts {
            smallest: P::smallest_timestamp,
            shift: P::shift_timestamps,
            smallest_in_message: P::smallest_in_message,
            shift_message: P::shift_message,
            smallest_in_stable: P::smallest_in_stable,
            shift_stable: P::shift_stable,
        }
    }
}

impl<P: Protocol> Clone for Shifts<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Protocol> Copy for Shifts<P> {}
