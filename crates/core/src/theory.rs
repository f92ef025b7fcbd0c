//! Predictions of the literature about an algorithm, for comparison with measurements.

use crate::process::ProcessId;

/// Delays, bypass and order of an algorithm according to the literature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theory {
    /// Delay from request to entry without contention, in message hops. Empty for an election.
    pub entry: &'static str,
    /// Synchronisation delay. For a lock: from an exit to the next entry while a process waits. For
    /// an election: from the start by all processes until all know the result. For an agreement:
    /// from the request of all processes until the last one knows the result.
    pub delay: Hops,
    /// Maximum number of entries of one other process during a wait. Empty for an election.
    pub bypass: &'static str,
    /// Order in which requests are served, relative to happened-before. Empty for an election.
    pub order: &'static str,
}

impl Theory {
    /// Creates the theory of a lock from its entry delay, bypass and order in words.
    pub const fn lock([entry, bypass, order]: [&'static str; 3], delay: Hops) -> Self {
        Theory { entry, delay, bypass, order }
    }

    /// Creates the theory of an election in which all processes start at the same time. After
    /// `hops` messages in sequence, all of them know the result.
    pub const fn election(hops: u32) -> Self {
        Theory::agreement("", hops)
    }

    /// Creates the theory of an agreement in which all processes start at the same time. After
    /// `hops` messages in sequence, all of them know the result. `words` is this number as a
    /// formula.
    pub const fn agreement(words: &'static str, hops: u32) -> Self {
        let delay = Hops { words, least: hops, most: hops, whole: true };
        Theory { entry: "", delay, bypass: "", order: "" }
    }
}

/// Number of messages that are sent one after the other, as a formula and as bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hops {
    /// Number of messages as a formula, for display.
    pub words: &'static str,
    /// Lower bound of the number.
    pub least: u32,
    /// Upper bound of the number.
    pub most: u32,
    /// True if the bounds hold in every run. If false, they hold only without concurrent requests
    /// of other processes.
    pub whole: bool,
}

impl Hops {
    /// Exactly one message.
    pub const ONE: Hops = Hops { words: "1", least: 1, most: 1, whole: true };

    /// Exactly two messages, one after the other.
    pub const TWO: Hops = Hops { words: "2", least: 2, most: 2, whole: true };

    /// Creates a range from 1 hop, to the next process on the ring, to `size` hops, once round the
    /// ring.
    pub const fn ring(size: u32) -> Self {
        Hops { words: "1…N", least: 1, most: size, whole: true }
    }

    /// Creates a range from 1 hop, to a neighbour in the tree, to `diameter` hops, between the
    /// processes that are farthest apart.
    pub const fn tree(diameter: u32) -> Self {
        Hops { words: "1…D", least: 1, most: diameter, whole: true }
    }
}

/// Workload of a run, with the distinctions that formulas need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkloadKind {
    /// One process at a time enters, drawn at random.
    OneAtATime,
    /// All processes enter equally often and may request at any time.
    Alike,
    /// All processes start an election at the same time, with the configured ranks.
    AllStart,
    /// All processes start an election at the same time, with ranks in random order.
    AllStartRandomRanks,
    /// Only this process starts an election.
    OneStarts(ProcessId),
    /// Any other workload.
    Other,
}

/// Number of messages that theory predicts, per entry or per election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prediction {
    /// Meaning of the number: exact, a mean, or a bound.
    pub precision: Precision,
    /// Predicted number of messages.
    pub messages: Quantity,
}

impl Prediction {
    /// Creates a prediction of a whole number.
    pub const fn new(precision: Precision, messages: u64) -> Self {
        Prediction::shared(precision, messages, 1)
    }

    /// Creates a prediction of the fraction `numerator / denominator`.
    pub const fn shared(precision: Precision, numerator: u64, denominator: u64) -> Self {
        Prediction {
            precision,
            messages: Quantity { numerator, denominator, harmonic_factor: 0, harmonic_index: 0 },
        }
    }

    /// Creates a prediction of a mean: `harmonic_factor` times the harmonic number 1 + 1/2 + … +
    /// 1/`harmonic_index`, plus `more`.
    pub const fn harmonic(harmonic_factor: u64, harmonic_index: u32, more: u64) -> Self {
        let messages =
            Quantity { numerator: more, denominator: 1, harmonic_factor, harmonic_index };
        Prediction { precision: Precision::Mean, messages }
    }
}

/// `numerator / denominator + harmonic_factor · H(harmonic_index)`, with the harmonic number H. The
/// parts are integers, so the quantity is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quantity {
    /// Numerator of the fraction.
    pub numerator: u64,
    /// Denominator of the fraction.
    pub denominator: u64,
    /// Factor of the harmonic number.
    pub harmonic_factor: u64,
    /// Index of the harmonic number.
    pub harmonic_index: u32,
}

/// Meaning of a predicted number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precision {
    /// Every run sends exactly this number of messages.
    Exact,
    /// Runs send this number of messages on average over their random choices.
    Mean,
    /// No run sends more messages.
    Most,
    /// No run sends fewer messages.
    Least,
}

impl Precision {
    /// Returns the words that precede the number in a report, such as `at most`.
    pub const fn words(self) -> &'static str {
        match self {
            Precision::Exact => "exactly",
            Precision::Mean => "on average",
            Precision::Most => "at most",
            Precision::Least => "at least",
        }
    }
}
