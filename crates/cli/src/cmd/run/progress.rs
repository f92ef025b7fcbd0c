//! Shows the progress of a run on a terminal.

use tenure_core::ProcessId;

use super::plan::NodeRunPlan;
use crate::cmd::progress_bar::{ProgressBar, progress_line};

/// A progress line on standard error. It is removed when this value is dropped.
#[derive(Debug)]
pub(super) struct RunProgressLine {
    bar: ProgressBar,
    /// True if the progress line shows the time, false if it shows the entries.
    timed: bool,
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

    /// Restarts the time that the progress line shows. The caller calls this when all nodes are
    /// ready.
    pub(super) fn restart_clock(&self) {
        self.bar.reset();
    }

    pub(super) fn print_event(&self, text: &str) {
        self.bar.println(format!("{:>6.2} s  {text}", self.bar.elapsed().as_secs_f64()));
    }

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
