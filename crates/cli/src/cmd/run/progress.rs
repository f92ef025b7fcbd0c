//! Shows the progress of a run on a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use tenure_core::ProcessId;

use super::plan::Plan;

/// A progress line on standard error. It is removed when this value is dropped.
#[derive(Debug)]
pub(super) struct Progress {
    bar: ProgressBar,
    /// True if the progress line shows the time, false if it shows the entries.
    timed: bool,
    total: u64,
}

/// A progress line during the verification.
#[derive(Debug)]
pub(super) struct VerificationLine(ProgressBar);

impl VerificationLine {
    pub(super) fn start() -> VerificationLine {
        let bar = ProgressBar::new_spinner().with_message("verifying the traces");
        bar.enable_steady_tick(Duration::from_millis(100));
        VerificationLine(bar)
    }
}

impl Drop for VerificationLine {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

impl Progress {
    pub(super) fn new(plan: &Plan) -> Self {
        let (timed, total) = match (plan.duration, plan.entries) {
            (Some(duration), _) => (true, u64::try_from(duration.as_millis()).unwrap_or(1)),
            (None, entries) => (false, entries.unwrap_or(1) * u64::from(plan.size)),
        };
        // Drawn on standard error; hidden if that is no terminal.
        let bar = ProgressBar::new(total).with_message("starting");
        if let Ok(style) = ProgressStyle::with_template("{elapsed:>4} {bar:30} {msg}") {
            bar.set_style(style);
        }
        Progress { bar, timed, total }
    }

    /// Starts the clock of the progress line, because all nodes are ready.
    pub(super) fn started(&self) {
        self.bar.reset();
        self.bar.enable_steady_tick(Duration::from_millis(100));
    }

    /// Prints a line about a fault above the progress line.
    pub(super) fn event(&self, text: &str) {
        self.bar.println(format!("{:>6.2} s  {text}", self.bar.elapsed().as_secs_f64()));
    }

    pub(super) fn show(&self, entries: u64, leader: Option<ProcessId>) {
        let passed = u64::try_from(self.bar.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.bar.set_position(self.total.min(if self.timed { passed } else { entries }));
        let leader = leader.map_or("no leader".into(), |leader| format!("leader {leader}"));
        self.bar.set_message(format!("{entries} entries, {leader}"));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
