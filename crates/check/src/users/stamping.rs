//! Application messages that carry the protocol's logical clock.

use tenure_core::{ExposesLogicalClock, Protocol};

/// Functions that read and update the logical clock of a [`ExposesLogicalClock`] protocol. A check
/// uses these functions only if application messages carry this clock.
pub(crate) struct StampingFunctions<P: Protocol> {
    pub(crate) clock: fn(&P) -> u64,
    pub(crate) observe: fn(&mut P, u64),
}

impl<P: ExposesLogicalClock> StampingFunctions<P> {
    pub(crate) fn new() -> Self {
        StampingFunctions { clock: P::clock, observe: P::observe }
    }
}
