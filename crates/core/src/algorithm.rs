//! What an algorithm says of itself, beside what it does.

use alloc::sync::Arc;

use crate::card::Card;
use crate::protocol::Protocol;
use crate::rank::Rank;
use crate::theory::{Expected, Scene};

/// A protocol that says what it needs, and which of its numbers grow without end.
///
/// # Stamps
///
/// The behaviour of many algorithms does not change when all their stamps are shifted alike. A
/// checker that subtracts the smallest stamp in the world from all of them makes endlessly
/// repeated requests a finite graph. Where there is nothing to say, nothing is said: a checker may
/// as well leave states as they are, and correctness never depends on it. Who says something keeps
/// to this:
///
/// - Shifting by `by` all processes, all messages under way and all that was saved gives a world
///   that does the same, shifted: stamps are compared with stamps and with nothing else.
/// - [`Algorithm::smallest_stamp`] looks at every stamp that [`Algorithm::shift_stamps`] changes;
///   a field that means nothing in a phase is reset to one value, and left out of both.
/// - The first half of every [`Fence`](crate::Fence) is a stamp, and shifts with the rest.
pub trait Algorithm: Protocol {
    /// The card of this algorithm under `config` in a group of `size` processes.
    fn card(config: &Self::Config, size: u32) -> Card;

    /// How many messages theory expects under `config` in a group of `size`, where nothing goes
    /// wrong and no variant is switched on; nothing where it has no formula.
    fn expected(config: &Self::Config, size: u32, scene: Scene) -> Option<Expected> {
        let _ = (config, size, scene);
        None
    }

    /// The same configuration with other ranks, by process, for an election that the largest rank
    /// wins.
    fn ranked(config: &Self::Config, ranks: Arc<[Rank]>) -> Self::Config {
        let _ = ranks;
        config.clone()
    }

    /// The number of the highest term that the state knows of, 0 where there are none: terms
    /// cannot be shifted, but a checker can stop at a declared one.
    fn highest_term(&self) -> u64 {
        0
    }

    /// Whether stamps can be shifted at all.
    fn rebases(config: &Self::Config) -> bool {
        let _ = config;
        false
    }

    /// The smallest stamp in the state, if it has one.
    fn smallest_stamp(&self) -> Option<u64> {
        None
    }

    /// Makes every stamp in the state smaller by `by`, which is at most the smallest one.
    fn shift_stamps(&mut self, by: u64) {
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
}
