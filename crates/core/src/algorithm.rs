//! Declarations that an algorithm makes in addition to its behaviour: its card, its costs in
//! theory, and its timestamps.

use alloc::sync::Arc;

use crate::card::Card;
use crate::protocol::Protocol;
use crate::rank::Rank;
use crate::theory::{Prediction, WorkloadKind};

/// A protocol that declares its assumptions and costs on a [`Card`]. It may also declare its
/// timestamps, so that a checker can shift them.
///
/// # Timestamps
///
/// Many algorithms behave the same when all their timestamps are shifted by the same amount. The
/// *global state* consists of the states of all processes, the messages in flight and the saved
/// states. A checker can subtract the smallest timestamp in the global state from all timestamps in
/// it. The state graph of the checker is then finite, even if requests repeat endlessly. By
/// default, an algorithm declares no timestamps, and the checker shifts nothing. The result of a
/// check does not depend on shifting. An implementation obeys these rules:
///
/// - If all timestamps in the global state are shifted by one amount, the algorithm behaves as
///   before, with shifted timestamps. An algorithm therefore compares a timestamp only with another
///   timestamp.
/// - [`Algorithm::smallest_timestamp`] reads exactly the timestamps that
///   [`Algorithm::lower_timestamps`] changes. A timestamp without meaning in the present
///   state has a fixed value, and both methods ignore it.
/// - The first half of every [`Fence`](crate::Fence) in the state or in a message counts as a
///   timestamp.
pub trait Algorithm: Protocol {
    /// Returns the [`Card`] of this algorithm under `config` in a group of `size` processes: its
    /// assumptions, costs and promises.
    fn card(config: &Self::Config, size: u32) -> Card;

    /// Returns the number of messages that theory predicts for a run without faults and variants.
    /// The number is per unit of work: an entry, an election or an agreement. It depends on the
    /// kind of workload. Returns `None` if there is no formula for this workload.
    fn predicted_messages(
        config: &Self::Config,
        size: u32,
        workload: WorkloadKind,
    ) -> Option<Prediction> {
        let _ = (config, size, workload);
        None
    }

    /// Returns an upper bound, in ticks, on the time from a request to its service in a run without
    /// faults. A simulation stops a run without progress after a timeout, and the bound extends
    /// this timeout. With the default, `None`, the timeout allows a few message delays per process.
    /// An algorithm overrides this method only if its number of rounds depends on the values of
    /// identifiers.
    fn max_waiting_time(config: &Self::Config, size: u32) -> Option<u64> {
        let _ = (config, size);
        None
    }

    /// Returns `config` with other ranks: `ranks[i]` is the rank of the process with the index *i*,
    /// from 0. An election overrides this method if ranks decide it and the largest rank wins. The
    /// default returns `config` unchanged.
    fn with_ranks(config: &Self::Config, ranks: Arc<[Rank]>) -> Self::Config {
        let _ = ranks;
        config.clone()
    }

    /// Returns the highest term number in the state, or 0 if the state has no terms. In some
    /// algorithms, a ballot or a round plays the role of a term. A checker cannot shift terms as it
    /// shifts timestamps. Instead, the user of the checker declares a highest term, and the checker
    /// searches only up to this term.
    fn highest_term(&self) -> u64 {
        0
    }

    /// Returns true if the timestamps of this algorithm can be shifted under `config`.
    fn can_shift_timestamps(config: &Self::Config) -> bool {
        let _ = config;
        false
    }

    /// Sets the logical clock of this process to a fixed value, so that states that differ only in
    /// this clock become equal. A checker may call this method when the user of this process has
    /// finished, and only if each user makes at most one request.
    ///
    /// An algorithm may override this method only if both conditions hold:
    ///
    /// - The clock affects nothing but the timestamps of later requests of this process.
    /// - After the user has finished, the process sends its clock only to processes that have
    ///   already made their requests.
    fn forget_clock(&mut self) {}

    /// Returns the smallest timestamp in the state, or `None` if the state has no timestamps.
    fn smallest_timestamp(&self) -> Option<u64> {
        None
    }

    /// Subtracts `by` from every timestamp in the state. `by` is at most the result of
    /// [`Algorithm::smallest_timestamp`]. Does nothing if the state has no timestamps.
    fn lower_timestamps(&mut self, by: u64) {
        let _ = by;
    }

    /// Returns the smallest timestamp in `message`, or `None` if the message has no timestamps.
    fn smallest_message_timestamp(config: &Self::Config, message: &Self::Message) -> Option<u64> {
        let _ = (config, message);
        None
    }

    /// Subtracts `by` from every timestamp in a message. `by` is at most the result of
    /// [`Algorithm::smallest_message_timestamp`].
    fn lower_message_timestamps(config: &Self::Config, message: &mut Self::Message, by: u64) {
        let _ = (config, message, by);
    }

    /// Returns the smallest timestamp in saved state, or `None` if the saved state has no
    /// timestamps.
    fn smallest_saved_timestamp(config: &Self::Config, stable: &Self::Stable) -> Option<u64> {
        let _ = (config, stable);
        None
    }

    /// Subtracts `by` from every timestamp in saved state. `by` is at most the result of
    /// [`Algorithm::smallest_saved_timestamp`].
    fn lower_saved_timestamps(config: &Self::Config, stable: &mut Self::Stable, by: u64) {
        let _ = (config, stable, by);
    }
}
