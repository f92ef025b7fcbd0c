//! A protocol whose logical clock the application can carry along.

use crate::protocol::Protocol;

/// A protocol that orders requests by a logical clock, and lets the application carry it.
///
/// What users tell each other past the protocol is in no clock of its own: a request can happen
/// before another through the application and yet have the larger stamp. When every message of
/// the application carries the sender's clock, and the receiver takes note of it before it asks
/// for anything, the order of entries is that of happened-before, through whatever messages.
///
/// Lamport, *Time, clocks, and the ordering of events in a distributed system*, CACM 1978.
pub trait Stamped: Protocol {
    /// What a message of the application carries: the clock now.
    fn clock(&self) -> u64;

    /// A message of the application arrives, with its sender's clock.
    fn observe(&mut self, clock: u64);
}
