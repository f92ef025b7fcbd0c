//! Functions that shift a protocol's timestamps.

use tenure_core::{Algorithm, Protocol};

/// Functions by which an [`Algorithm`] shifts its timestamps. A check uses these functions only if
/// it merges states that differ only by a shift of all timestamps.
pub(crate) struct ShiftFunctions<P: Protocol> {
    pub(crate) smallest_timestamp: fn(&P) -> Option<u64>,
    pub(crate) shift: fn(&mut P, u64),
    pub(crate) smallest_message_timestamp: fn(&P::Config, &P::Message) -> Option<u64>,
    pub(crate) shift_message: fn(&P::Config, &mut P::Message, u64),
    pub(crate) smallest_stable_timestamp: fn(&P::Config, &P::Stable) -> Option<u64>,
    pub(crate) shift_stable: fn(&P::Config, &mut P::Stable, u64),
}

impl<P: Algorithm> ShiftFunctions<P> {
    pub(crate) fn new() -> Self {
        ShiftFunctions {
            smallest_timestamp: P::smallest_timestamp,
            shift: P::shift_timestamps,
            smallest_message_timestamp: P::smallest_message_timestamp,
            shift_message: P::shift_message,
            smallest_stable_timestamp: P::smallest_stable_timestamp,
            shift_stable: P::shift_stable,
        }
    }
}
