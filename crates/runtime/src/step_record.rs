//! Trace records of a step, which are written only when its effects are released.

use tenure_core::{ProcessId, VectorClock, Verdict};
use tenure_trace::{Choice, Kind};

/// Trace records of one step. A step that is never saved has no observable effect and no record.
#[derive(Debug, Default)]
pub(crate) struct StepRecord {
    /// Vector clock of the message that caused the step.
    pub(crate) sender_clock: Option<VectorClock>,
    /// Cause of the step, unless it was a timer.
    pub(crate) cause: Option<Kind>,
    /// Name of the timer that caused the step.
    pub(crate) timer_name: Option<String>,
    /// Changed suspicions of the process's own failure detector.
    pub(crate) suspicions: Vec<(ProcessId, Verdict)>,
    /// Random choices of the step.
    pub(crate) choices: Vec<Choice>,
    /// State after the step, if states are recorded and it has changed.
    pub(crate) state: Option<Kind>,
}

impl StepRecord {
    /// Creates the record of a step with this cause.
    pub(crate) fn with_cause(cause: Kind) -> Self {
        StepRecord { cause: Some(cause), ..StepRecord::default() }
    }
}
