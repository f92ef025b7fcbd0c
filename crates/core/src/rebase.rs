//! What grows without end in a protocol's states, and how a checker makes it finite.

use crate::Protocol;

/// A protocol whose behaviour does not change when all its stamps are shifted alike.
///
/// A checker that subtracts the smallest stamp in the world from all of them makes endlessly
/// repeated requests a finite graph. Everything has a default that does nothing, so that
/// `impl Rebase for MyProtocol {}` is enough where there is nothing to say; correctness never
/// depends on it, since a checker may as well leave states as they are.
///
/// # Contract
///
/// - Shifting by `by` all processes, all messages under way and all that was saved gives a world
///   that does the same, shifted: stamps are compared with stamps and with nothing else.
/// - [`Rebase::smallest`] looks at every stamp that [`Rebase::shift`] changes; a field that
///   means nothing in a phase is reset to one value, and left out of both.
/// - The first half of every [`Fence`](crate::Fence) is a stamp, and shifts with the rest.
pub trait Rebase: Protocol {
    /// Whether stamps can be shifted at all.
    fn rebases(config: &Self::Config) -> bool {
        let _ = config;
        false
    }

    /// The smallest stamp in the state, if it has one.
    fn smallest(&self) -> Option<u64> {
        None
    }

    /// Makes every stamp in the state smaller by `by`, which is at most the smallest one.
    fn shift(&mut self, by: u64) {
        let _ = by;
    }

    /// The smallest stamp in a message, if it has one.
    fn smallest_in_message(config: &Self::Config, message: &Self::Message) -> Option<u64> {
        let _ = (config, message);
        None
    }

    /// Makes every stamp in a message smaller by `by`.
    fn shift_message(config: &Self::Config, message: &mut Self::Message, by: u64) {
        let _ = (config, message, by);
    }

    /// The smallest stamp in what was saved, if it has one.
    fn smallest_in_stable(config: &Self::Config, stable: &Self::Stable) -> Option<u64> {
        let _ = (config, stable);
        None
    }

    /// Makes every stamp in what was saved smaller by `by`.
    fn shift_stable(config: &Self::Config, stable: &mut Self::Stable, by: u64) {
        let _ = (config, stable, by);
    }

    /// The number of the highest term that the state knows of, 0 where there are none: terms
    /// cannot be shifted, but a checker can stop at a declared one.
    fn term(&self) -> u64 {
        0
    }
}
