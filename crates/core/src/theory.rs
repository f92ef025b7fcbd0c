//! Predictions of the literature about an algorithm, for comparison with measurements.

use crate::process::ProcessId;

/// Delays, bypass and service order of an algorithm according to the literature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedCosts {
    /// Delay from request to entry without contention, as a number of messages sent one after the
    /// other. Empty for an election and for an agreement.
    pub entry_delay: &'static str,
    /// Synchronisation delay, as a number of messages sent one after the other. For a lock: from an
    /// exit to the next entry, if the messages of the next request have already arrived. For an
    /// election: from the common start of all processes until all know the result. For an
    /// agreement: from the common request of all processes until all know the result.
    pub synchronisation_delay: HopRange,
    /// Maximum number of times that one other process enters while a process waits, in words. Empty
    /// for an election and for an agreement.
    pub bypass: &'static str,
    /// Order in which requests are served, in words. The words refer to Lamport's *happened before*
    /// relation between requests. Empty for an election and for an agreement.
    pub order: &'static str,
}

impl ExpectedCosts {
    /// Creates the predictions of the literature for a lock. The first argument contains the entry
    /// delay, the bypass and the service order of the lock, each in words.
    pub const fn lock(
        [entry_delay, bypass, order]: [&'static str; 3],
        synchronisation_delay: HopRange,
    ) -> Self {
        ExpectedCosts { entry_delay, synchronisation_delay, bypass, order }
    }

    /// Creates the theory of an election in which all processes start at the same time. All
    /// processes know the result after `hops` messages, sent one after the other.
    pub const fn election(hops: u32) -> Self {
        ExpectedCosts::agreement("", hops)
    }

    /// Creates the theory of an agreement in which all processes start at the same time. All
    /// processes know the result after `hops` messages, sent one after the other. `formula` states
    /// this number as a formula, for display.
    pub const fn agreement(formula: &'static str, hops: u32) -> Self {
        let synchronisation_delay =
            HopRange { formula, least: hops, most: hops, is_unconditional: true };
        ExpectedCosts { entry_delay: "", synchronisation_delay, bypass: "", order: "" }
    }
}

/// A delay, as the number of messages that are sent one after the other. `formula` states this
/// number for display, and `least` and `most` are bounds on this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopRange {
    /// Number of messages as a formula, for display.
    pub formula: &'static str,
    /// Lower bound on the number of messages.
    pub least: u32,
    /// Upper bound on the number of messages.
    pub most: u32,
    /// True if the bounds hold for any number of requests. False if they hold only while no other
    /// process requests.
    pub is_unconditional: bool,
}

impl HopRange {
    /// Exactly one message.
    pub const ONE: HopRange = HopRange { formula: "1", least: 1, most: 1, is_unconditional: true };

    /// Exactly two messages, one after the other.
    pub const TWO: HopRange = HopRange { formula: "2", least: 2, most: 2, is_unconditional: true };

    /// Creates the range of hops on a ring of `size` processes. The lower bound is 1 hop, to the
    /// next process. The upper bound is `size` hops, once round the ring.
    pub const fn ring(size: u32) -> Self {
        HopRange { formula: "1…N", least: 1, most: size, is_unconditional: true }
    }

    /// Creates the range of hops in a tree. The lower bound is 1 hop, to a neighbour. The upper
    /// bound is `diameter` hops, to the farthest process.
    pub const fn tree(diameter: u32) -> Self {
        HopRange { formula: "1…D", least: 1, most: diameter, is_unconditional: true }
    }
}

/// Kind of workload of a run. Formulas for the number of messages distinguish these kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkloadKind {
    /// Only one process at a time requests and enters. Each time, this process is drawn at random.
    OneAtATime,
    /// All processes enter equally often and may request at any time.
    AllEquallyOften,
    /// All processes start an election at the same time, with the configured ranks.
    AllStart,
    /// All processes start an election at the same time, with ranks in random order.
    AllStartRandomRanks,
    /// Only this process starts an election.
    OneStarts(ProcessId),
    /// Any other workload.
    Other,
}

/// Number of messages that theory predicts for one unit of work: one entry into the critical
/// section, one election or one agreement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prediction {
    /// Meaning of the predicted number: exact, a mean, or a bound.
    pub precision: PredictionKind,
    /// Predicted number of messages.
    pub messages: HarmonicQuantity,
}

impl Prediction {
    /// Creates a prediction of `messages` messages per unit of work. `precision` states the meaning
    /// of this number.
    pub const fn new(precision: PredictionKind, messages: u64) -> Self {
        Prediction::fraction(precision, messages, 1)
    }

    /// Creates a prediction of `numerator / denominator` messages per unit of work. `precision`
    /// states the meaning of this number.
    pub const fn fraction(precision: PredictionKind, numerator: u64, denominator: u64) -> Self {
        Prediction {
            precision,
            messages: HarmonicQuantity {
                numerator,
                denominator,
                harmonic_factor: 0,
                harmonic_index: 0,
            },
        }
    }

    /// Creates a prediction of a mean: `harmonic_factor` times the harmonic number 1 + 1/2 + … +
    /// 1/`harmonic_index`, plus `more` messages.
    pub const fn harmonic(harmonic_factor: u64, harmonic_index: u32, more: u64) -> Self {
        let messages =
            HarmonicQuantity { numerator: more, denominator: 1, harmonic_factor, harmonic_index };
        Prediction { precision: PredictionKind::Mean, messages }
    }
}

/// The number `numerator / denominator + harmonic_factor · H(harmonic_index)`, where H(*n*) is the
/// harmonic number 1 + 1/2 + … + 1/*n*. All parts are integers, so the quantity is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HarmonicQuantity {
    /// Numerator of the fraction.
    pub numerator: u64,
    /// Denominator of the fraction.
    pub denominator: u64,
    /// Factor by which the harmonic number H(`harmonic_index`) is multiplied.
    pub harmonic_factor: u64,
    /// Index *n* of the harmonic number H(*n*). H(0) is 0.
    pub harmonic_index: u32,
}

/// Relation between a predicted number of messages and the number that a run sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PredictionKind {
    /// Every run sends exactly this number of messages.
    Exact,
    /// The mean number of messages, over the random choices of all runs, equals this number.
    Mean,
    /// No run sends more messages than this number.
    Most,
    /// No run sends fewer messages than this number.
    Least,
}

impl PredictionKind {
    /// Returns the words that precede the number in a report, such as `at most`.
    pub const fn qualifier(self) -> &'static str {
        match self {
            PredictionKind::Exact => "exactly",
            PredictionKind::Mean => "on average",
            PredictionKind::Most => "at most",
            PredictionKind::Least => "at least",
        }
    }
}
