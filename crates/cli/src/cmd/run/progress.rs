//! Shows the progress of a run on a terminal.

use tenure_core::ProcessId;

use super::plan::NodeRunPlan;
use crate::cmd::progress_bar::{ProgressBar, progress_line};

/// A progress line on standard error. The line disappears when this value is dropped.
#[derive(Debug)]
pub(super) struct RunProgressLine {
    bar: ProgressBar,
    /// True if the bar shows the elapsed time as a part of the duration. False if the bar shows the
    /// number of entries as a part of the planned number.
    timed: bool,
    /// Length of the full bar: a time in milliseconds, or a number of entries of all nodes.
    total: u64,
}

impl RunProgressLine {
    pub(super) fn new(plan: &NodeRunPlan) -> Self {
        let (timed, total) = match (plan.duration, plan.entries) {
            (Some(duration), _) => (true, u64::try_from(duration.as_millis()).unwrap_or(1)),
            (None, entries) => (false, entries.unwrap_or(1) * u64::from(plan.size)),
        };
        let bar = progress_line(Some(total), "{elapsed:>4} {bar:30} {msg}");
        bar.set_message("starting");
        RunProgressLine { bar, timed, total }
    }

    /// Restarts the time that the progress line shows. The run calls this function when all nodes
    /// are ready.
    pub(super) fn restart_clock(&self) {
        self.bar.reset();
    }

    /// Prints an event of the run with its time since the last call of
    /// [`RunProgressLine::restart_clock`].
    pub(super) fn print_event(&self, text: &str) {
        self.bar.println(format!("{:>6.2} s  {text}", self.bar.elapsed().as_secs_f64()));
    }

    /// Updates the line. `entries` is the number of entries of all nodes so far.
    pub(super) fn show(&self, entries: u64, leader: Option<ProcessId>) {
        let passed = u64::try_from(self.bar.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.bar.set_position(self.total.min(if self.timed { passed } else { entries }));
        let leader = leader.map_or("no leader".into(), |leader| format!("leader {leader}"));
        self.bar.set_message(format!("{entries} entries, {leader}"));
    }
}

impl Drop for RunProgressLine {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
