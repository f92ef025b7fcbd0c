//! Progress and cancellation of a run, for its caller.

use std::sync::atomic::{AtomicBool, Ordering};

/// Progress of a run that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunProgress {
    /// Number of events that the run has taken from its queues, as in
    /// [`RunMetrics::events`](crate::RunMetrics::events).
    pub events: u64,
    /// Current virtual time of the run, in ticks.
    pub now: u64,
    /// Number of entries to the critical section so far.
    pub entered: u64,
    /// Number of protocol messages in flight, including those of a process to itself.
    pub in_flight: u64,
}

/// Progress reports for the caller of a run, and a flag with which the caller stops the run.
/// Reports do not change the events of the run.
#[derive(Default)]
pub struct RunControls<'a> {
    stop: Option<&'a AtomicBool>,
    progress: Option<Box<dyn FnMut(RunProgress) + 'a>>,
}

impl<'a> RunControls<'a> {
    /// Creates controls without reports and without a stop flag.
    pub fn new() -> Self {
        RunControls::default()
    }

    /// Stops the run within a few thousand events after `flag` becomes true. The report then
    /// contains partial results, with the reason [`EndReason::Stopped`](crate::EndReason::Stopped).
    #[must_use]
    pub fn stopped_by(mut self, flag: &'a AtomicBool) -> Self {
        self.stop = Some(flag);
        self
    }

    /// Makes the run call `report` every few thousand events.
    #[must_use]
    pub fn reporting(mut self, report: impl FnMut(RunProgress) + 'a) -> Self {
        self.progress = Some(Box::new(report));
        self
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    pub(crate) fn report(&mut self, progress: impl FnOnce() -> RunProgress) {
        if let Some(report) = &mut self.progress {
            report(progress());
        }
    }
}
