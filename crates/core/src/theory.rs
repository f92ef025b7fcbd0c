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

    /// Creates the theory of an election that takes this many hops when all processes start at the
    /// same time.
    pub const fn election(hops: u32) -> Self {
        Theory::agreement("", hops)
    }

    /// Creates the theory of an agreement that takes this many hops, in words and as a number, when
    /// all processes start at the same time.
    pub const fn agreement(words: &'static str, hops: u32) -> Self {
        let delay = Hops { words, least: hops, most: hops, whole: true };
        Theory { entry: "", delay, bypass: "", order: "" }
    }
}

/// Number of sequential messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hops {
    /// Formula for people.
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
    /// One message, never more or less.
    pub const ONE: Hops = Hops { words: "1", least: 1, most: 1, whole: true };

    /// Two messages in sequence.
    pub const TWO: Hops = Hops { words: "2", least: 2, most: 2, whole: true };

    /// Creates a range from the next process on the ring to a full round.
    pub const fn ring(size: u32) -> Self {
        Hops { words: "1…N", least: 1, most: size, whole: true }
    }

    /// Creates a range from a neighbour in the tree to its diameter.
    pub const fn tree(diameter: u32) -> Self {
        Hops { words: "1…D", least: 1, most: diameter, whole: true }
    }
}

/// Workload of a run, with the distinctions that formulas need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkloadKind {
    /// One process at a time enters, drawn at random.
    OneAtATime,
    /// All processes enter equally often, at any time.
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
    /// Kind of the prediction.
    pub precision: Precision,
    /// Number of messages that is predicted.
    pub messages: Quantity,
}

impl Prediction {
    /// Creates a prediction of a whole number.
    pub const fn new(precision: Precision, messages: u64) -> Self {
        Prediction {
            precision,
            messages: Quantity {
                numerator: messages,
                denominator: 1,
                harmonic_factor: 0,
                harmonic_index: 0,
            },
        }
    }

    /// Creates a prediction of a fraction.
    pub const fn shared(precision: Precision, numerator: u64, denominator: u64) -> Self {
        Prediction {
            precision,
            messages: Quantity { numerator, denominator, harmonic_factor: 0, harmonic_index: 0 },
        }
    }

    /// Creates a mean: `harmonic_factor` times the harmonic number 1 + 1/2 + … +
    /// 1/`harmonic_index`, plus `more`.
    pub const fn harmonic(harmonic_factor: u64, harmonic_index: u32, more: u64) -> Self {
        let messages =
            Quantity { numerator: more, denominator: 1, harmonic_factor, harmonic_index };
        Prediction { precision: Precision::Mean, messages }
    }
}

/// `numerator / denominator + harmonic_factor · H(harmonic_index)`, with the harmonic number H. It
/// stays exact without floating-point numbers.
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

/// Kind of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precision {
    /// This number in every run.
    Exact,
    /// This number on average over the random choices.
    Mean,
    /// An upper bound.
    Most,
    /// A lower bound.
    Least,
}

impl Precision {
    /// Returns the words before the number.
    pub const fn words(self) -> &'static str {
        match self {
            Precision::Exact => "exactly",
            Precision::Mean => "on average",
            Precision::Most => "at most",
            Precision::Least => "at least",
        }
    }
}
