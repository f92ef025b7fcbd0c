//! Trace records of a step. They are written only when the effects of the step are released.

use tenure_core::{PeerVerdict, ProcessId, VectorClock};
use tenure_trace::{RandomChoice, RecordKind};

/// Trace records of one step. A step that is never saved has no observable effect, so it is not
/// recorded.
#[derive(Debug, Default)]
pub(crate) struct StepTraceRecords {
    /// Vector clock of the sender of the message that caused the step. `None` if no message caused
    /// the step, or if the sender keeps no vector clock.
    pub(crate) sender_clock: Option<VectorClock>,
    /// Record of the cause of the step. `None` if the cause was a timer or a message of a failure
    /// detector, or if the node records no trace.
    pub(crate) cause: Option<RecordKind>,
    /// Name of the timer that caused the step. `None` if no timer caused the step, or if the node
    /// records no trace.
    pub(crate) timer_name: Option<String>,
    /// Verdicts that the process's own failure detector changed in this step: each peer with its
    /// new verdict.
    pub(crate) suspicions: Vec<(ProcessId, PeerVerdict)>,
    pub(crate) choices: Vec<RandomChoice>,
    /// Record of the state after the step. `None` if states are not recorded or the state has not
    /// changed.
    pub(crate) state: Option<RecordKind>,
}

impl StepTraceRecords {
    pub(crate) fn with_cause(cause: RecordKind) -> Self {
        StepTraceRecords { cause: Some(cause), ..StepTraceRecords::default() }
    }
}
