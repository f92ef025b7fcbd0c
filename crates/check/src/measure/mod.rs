//! Extremes of a measure over all schedules, with schedules that attain them.
//!
//! A global state does not contain totals, such as the number of messages sent so far. Each step of
//! the state graph has a weight, and the total of a run is the sum of the weights of its steps. The
//! maximum is the weight of the heaviest path through the strongly connected components of the
//! graph. The length of a causal chain and the bypass are not sums of weights. A check that
//! measures one of them stores its value in each global state.

pub(crate) mod extremes;
pub(crate) mod report;
mod run;
pub(crate) mod weights;

/// Quantity that is measured over a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Measure {
    /// Messages sent to other processes.
    Messages,
    /// Messages received from other processes, including duplicates.
    Received,
    /// Length of the longest causal chain of messages.
    CausalChainLength,
    /// Greatest number of entries by one process during one wait of another process.
    Bypass,
    /// Number of steps in which a process handles a command, a message, a timer, a report of the
    /// failure detector, or the restart of a peer.
    Moves,
}

impl Measure {
    /// All measures, in the order in which the enum declares them.
    pub const ALL: [Measure; 5] = [
        Measure::Messages,
        Measure::Received,
        Measure::CausalChainLength,
        Measure::Bypass,
        Measure::Moves,
    ];

    /// Returns the name of the measure on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Measure::Messages => "messages",
            Measure::Received => "received",
            Measure::CausalChainLength => "time",
            Measure::Bypass => "bypass",
            Measure::Moves => "moves",
        }
    }

    /// Returns a description of the measure in one line.
    pub const fn description(self) -> &'static str {
        match self {
            Measure::Messages => "messages sent to other processes",
            Measure::Received => "messages received from other processes",
            Measure::CausalChainLength => "messages in the longest causal chain",
            Measure::Bypass => "entries of one process during one wait of another",
            Measure::Moves => "steps of handlers: commands, messages, timers and suspicions",
        }
    }

    /// Returns true if the measure of a run is a total over its steps. Returns false if the measure
    /// is the greatest value of a state.
    pub(crate) const fn is_sum_over_steps(self) -> bool {
        matches!(self, Measure::Messages | Measure::Received | Measure::Moves)
    }

    /// Returns the value at which counting stops. This limit keeps the search finite. Returns
    /// `None` for measures that are totals: they need no limit, because states do not contain
    /// totals.
    pub const fn counting_cap(self) -> Option<u32> {
        match self {
            Measure::CausalChainLength => Some(64),
            Measure::Bypass => Some(16),
            Measure::Messages | Measure::Received | Measure::Moves => None,
        }
    }
}

/// A measure and the messages that it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasureConfig {
    /// Quantity to measure.
    pub measure: Measure,
    /// Kind of the messages to count. It has no effect on bypass and moves. `None` counts these
    /// messages:
    ///
    /// - only the messages of the lock, if the protocol provides a lock, alone or with an election
    /// - only the messages of the election, if the protocol provides only an election
    /// - all messages, for every other service
    ///
    /// The costs on the algorithm's [`Card`](tenure_core::Card) count the same messages as `None`.
    pub message_kind: Option<String>,
}

impl From<Measure> for MeasureConfig {
    fn from(measure: Measure) -> Self {
        MeasureConfig { measure, message_kind: None }
    }
}
