//! A protocol that exposes its logical clock to the application.

use crate::protocol::Protocol;

/// A protocol that orders requests by a logical clock and exposes the clock to the application.
///
/// The protocol's clock does not see messages between users. Suppose that a user sends a message
/// after its request, and the receiver then requests as well. The second request can have the
/// smaller timestamp, although the first request happened before it. To prevent this, every message
/// of the application carries the clock of its sender. The receiver passes this clock to
/// [`ExposesLogicalClock::observe`] before its next request. Then the order of entries respects
/// happened-before through all messages.
///
/// Lamport, *Time, clocks, and the ordering of events in a distributed system*, CACM 1978.
pub trait ExposesLogicalClock: Protocol {
    /// Returns the current clock. The application adds this clock to a message that it sends.
    fn clock(&self) -> u64;

    /// Advances the clock of this process to at least `clock`. `clock` is the clock of a sender,
    /// which the application received in a message.
    fn observe(&mut self, clock: u64);
}
