//! Functions that shift a protocol's timestamps.

use tenure_core::{Algorithm, Protocol};

/// Functions by which an [`Algorithm`] shifts its timestamps. A check uses these functions only if
/// it merges states that differ only by a shift of all timestamps.
pub(crate) struct ShiftFunctions<P: Protocol> {
    pub(crate) smallest_timestamp: fn(&P) -> Option<u64>,
    pub(crate) shift: fn(&mut P, u64),
    pub(crate) smallest_message_timestamp: fn(&P::Config, &P::Message) -> Option<u64>,
    pub(crate) lower_message_timestamps: fn(&P::Config, &mut P::Message, u64),
    pub(crate) smallest_saved_timestamp: fn(&P::Config, &P::Stable) -> Option<u64>,
    pub(crate) lower_saved_timestamps: fn(&P::Config, &mut P::Stable, u64),
}

impl<P: Algorithm> ShiftFunctions<P> {
    pub(crate) fn new() -> Self {
        ShiftFunctions {
            smallest_timestamp: P::smallest_timestamp,
            shift: P::lower_timestamps,
            smallest_message_timestamp: P::smallest_message_timestamp,
            lower_message_timestamps: P::lower_message_timestamps,
            smallest_saved_timestamp: P::smallest_saved_timestamp,
            lower_saved_timestamps: P::lower_saved_timestamps,
        }
    }
}
