//! Progress of a run, at a terminal only.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use tenure_core::ProcessId;

use super::plan::Plan;

/// Minimum interval between prints of the logs.
const LOGS_INTERVAL: Duration = Duration::from_millis(500);

/// A progress line on standard error, which is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Progress {
    bar: ProgressBar,
    /// True if the bar shows time; otherwise it shows entries.
    timed: bool,
    total: u64,
    /// Time and text of the last print of the logs.
    shown: Option<(Instant, String)>,
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
        Progress { bar, timed, total, shown: None }
    }

    /// Starts the clock: all nodes are ready.
    pub(super) fn started(&self) {
        self.bar.reset();
        self.bar.enable_steady_tick(Duration::from_millis(100));
    }

    /// Prints a fault.
    pub(super) fn event(&self, text: &str) {
        self.bar.println(format!("{:>6.2} s  {text}", self.bar.elapsed().as_secs_f64()));
    }

    /// Prints the logs on standard error if they changed, with a minimum interval.
    pub(super) fn logs(&mut self, rows: impl FnOnce() -> String) {
        let now = Instant::now();
        if self.shown.as_ref().is_some_and(|(at, _)| now.duration_since(*at) < LOGS_INTERVAL) {
            return;
        }
        let rows = rows();
        if self.shown.as_ref().is_none_or(|(_, before)| *before != rows) {
            let passed = self.bar.elapsed().as_secs_f64();
            self.bar.suspend(|| eprint!("{passed:>6.2} s\n{rows}"));
        }
        self.shown = Some((now, rows));
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
