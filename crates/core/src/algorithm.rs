//! Declarations of an algorithm in addition to its behaviour.

use alloc::sync::Arc;

use crate::card::Card;
use crate::protocol::Protocol;
use crate::rank::Rank;
use crate::theory::{Prediction, WorkloadKind};

/// A protocol that declares its assumptions, and how to shift its unbounded numbers.
///
/// # Timestamps
///
/// Many algorithms behave the same when all their timestamps are shifted by the same amount. A
/// checker that subtracts the smallest timestamp in the world from all of them obtains a finite
/// graph even if requests repeat endlessly. The default implementations declare nothing. A checker
/// may leave states as they are, so correctness never depends on shifting. An implementation obeys
/// these rules:
///
/// - Shifting all processes, all messages in flight and all saved state by `by` yields a world with
///   the same behaviour, shifted. Timestamps are compared with timestamps and with nothing else.
/// - [`Algorithm::smallest_timestamp`] reads every timestamp that [`Algorithm::shift_timestamps`]
///   changes. A field without meaning in some phase is reset to one value there, and both methods
///   ignore it.
/// - The first half of every [`Fence`](crate::Fence) is a timestamp and shifts with the rest.
pub trait Algorithm: Protocol {
    /// Returns the card of this algorithm under `config` in a group of `size` processes.
    fn card(config: &Self::Config, size: u32) -> Card;

    /// Returns the number of messages that theory predicts for the workload `scene`, under `config`
    /// in a group of `size`. The run has no faults and no variants. Returns `None` if there is no
    /// formula.
    fn expected(config: &Self::Config, size: u32, scene: WorkloadKind) -> Option<Prediction> {
        let _ = (config, size, scene);
        None
    }

    /// Returns `config` with other ranks: `ranks[i]` is the rank of process *i*. Elections in which
    /// the largest rank wins override this method; the default returns `config` unchanged.
    fn ranked(config: &Self::Config, ranks: Arc<[Rank]>) -> Self::Config {
        let _ = ranks;
        config.clone()
    }

    /// Returns the highest term number in the state, or 0 if the state has no terms. Terms cannot
    /// be shifted. A checker bounds them instead: it does not search beyond a term that the user
    /// declares.
    fn highest_term(&self) -> u64 {
        0
    }

    /// Returns true if timestamps can be shifted.
    fn can_shift_timestamps(config: &Self::Config) -> bool {
        let _ = config;
        false
    }

    /// Sets the logical clock to a fixed value, if it influences nothing but the timestamps of
    /// later requests. A checker calls it for a process whose user makes no further request, while
    /// every user makes at most one. The clock may be a part of messages to processes that have
    /// requested.
    fn forget_clock(&mut self) {}

    /// Returns the smallest timestamp in the state, if it has one.
    fn smallest_timestamp(&self) -> Option<u64> {
        None
    }

    /// Subtracts `by` from every timestamp in the state. `by` is at most the result of
    /// [`Algorithm::smallest_timestamp`].
    fn shift_timestamps(&mut self, by: u64) {
        let _ = by;
    }

    /// Returns the smallest timestamp in a message, if it has one.
    fn smallest_message_timestamp(config: &Self::Config, message: &Self::Message) -> Option<u64> {
        let _ = (config, message);
        None
    }

    /// Subtracts `by` from every timestamp in a message.
    fn shift_message(config: &Self::Config, message: &mut Self::Message, by: u64) {
        let _ = (config, message, by);
    }

    /// Returns the smallest timestamp in saved state, if it has one.
    fn smallest_stable_timestamp(config: &Self::Config, stable: &Self::Stable) -> Option<u64> {
        let _ = (config, stable);
        None
    }

    /// Subtracts `by` from every timestamp in saved state.
    fn shift_stable(config: &Self::Config, stable: &mut Self::Stable, by: u64) {
        let _ = (config, stable, by);
    }
}
