//! What is written down of a step when its effects leave, and not before.

use tenure_core::{ProcessId, VectorClock, Verdict};
use tenure_trace::{Choice, Kind};

/// One step, for the diary. A step that is never saved has not happened, as far as anybody knows.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// What the sender knew of the message that caused it.
    pub(crate) learned: Option<VectorClock>,
    /// What caused it, where it was no timer.
    pub(crate) cause: Option<Kind>,
    /// The timer that caused it.
    pub(crate) timer: Option<String>,
    /// Of whom the process's own detector has changed its mind.
    pub(crate) opinions: Vec<(ProcessId, Verdict)>,
    /// What was chosen, and of how many.
    pub(crate) choices: Vec<Choice>,
    /// What the process holds after it, where that is wanted and news.
    pub(crate) state: Option<Kind>,
}

impl Account {
    /// Of a step with this cause.
    pub(crate) fn of(cause: Kind) -> Self {
        Account { cause: Some(cause), ..Account::default() }
    }
}
