//! How the run is going, on a terminal; elsewhere not a word.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use tenure_core::ProcessId;

use super::plan::Plan;

/// How often the logs are shown.
const OFTEN: Duration = Duration::from_millis(500);

/// A line on standard error that follows the run. It vanishes when it is dropped.
#[derive(Debug)]
pub(super) struct Progress {
    bar: ProgressBar,
    /// Whether the length of the bar is a time; else it is a number of entries.
    timed: bool,
    total: u64,
    /// What was shown of the logs, and when.
    shown: Option<(Instant, String)>,
}

/// Says that it is being judged what happened, until it is dropped.
#[derive(Debug)]
pub(super) struct JudgingLine(ProgressBar);

impl JudgingLine {
    pub(super) fn begins() -> JudgingLine {
        let bar = ProgressBar::new_spinner().with_message("judging what happened");
        bar.enable_steady_tick(Duration::from_millis(100));
        JudgingLine(bar)
    }
}

impl Drop for JudgingLine {
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
        // Drawn on standard error, and hidden when that is no terminal.
        let bar = ProgressBar::new(total).with_message("starting");
        if let Ok(style) = ProgressStyle::with_template("{elapsed:>4} {bar:30} {msg}") {
            bar.set_style(style);
        }
        Progress { bar, timed, total, shown: None }
    }

    /// Everybody is ready.
    pub(super) fn started(&self) {
        self.bar.reset();
        self.bar.enable_steady_tick(Duration::from_millis(100));
    }

    /// Something was done to a node.
    pub(super) fn event(&self, says: &str) {
        self.bar.println(format!("{:>6.2} s  {says}", self.bar.elapsed().as_secs_f64()));
    }

    /// Shows the logs on standard error, where that is asked for: now and then, when they changed.
    pub(super) fn logs(&mut self, rows: impl FnOnce() -> String) {
        let now = Instant::now();
        if self.shown.as_ref().is_some_and(|(at, _)| now.duration_since(*at) < OFTEN) {
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
        let leader = leader.map_or("nobody leads".into(), |leader| format!("{leader} leads"));
        self.bar.set_message(format!("{entries} entries, {leader}"));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
