//! Metrics, for the facade of the crate `metrics`. Without the feature `metrics` nothing is
//! recorded.

use std::time::{Duration, Instant};

use crate::error::LossReason;
use crate::transport::retry::RetryAction;

/// Name, kind and description of a metric.
pub(crate) type MetricDescription = (&'static str, MetricKind, &'static str);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricKind {
    Counter,
    /// A distribution of durations in seconds.
    Seconds,
}

const LOCK_WAIT: &str = "tenure_client_lock_wait_seconds";
const LOCK_HOLD: &str = "tenure_client_lock_hold_seconds";
const RENEWALS: &str = "tenure_client_renewals_total";
const RENEWAL_LATENCY: &str = "tenure_client_renewal_seconds";
const SESSIONS_STARTED: &str = "tenure_client_sessions_started_total";
const SESSIONS_ENDED: &str = "tenure_client_sessions_ended_total";
const CONNECTIONS: &str = "tenure_client_connections_total";
const RECONNECTS: &str = "tenure_client_reconnects_total";
const RETRIES: &str = "tenure_client_retries_total";
const YIELDS: &str = "tenure_client_candidate_yields_total";

/// All metrics, in the order of the documentation.
#[cfg_attr(not(any(feature = "metrics", test)), allow(dead_code, reason = "only described"))]
pub(crate) const METRICS: [MetricDescription; 10] = [
    (
        LOCK_WAIT,
        MetricKind::Seconds,
        "Time from the request for a lock or leadership to its acquisition",
    ),
    (LOCK_HOLD, MetricKind::Seconds, "Time from the acquisition to the start of the release"),
    (RENEWALS, MetricKind::Counter, "Renewals of leases, by result"),
    (RENEWAL_LATENCY, MetricKind::Seconds, "Time from sending a renewal to its response"),
    (SESSIONS_STARTED, MetricKind::Counter, "Sessions that were started"),
    (SESSIONS_ENDED, MetricKind::Counter, "Sessions that have ended, by reason"),
    (CONNECTIONS, MetricKind::Counter, "Connections to members"),
    (RECONNECTS, MetricKind::Counter, "Connections that replaced an earlier one"),
    (RETRIES, MetricKind::Counter, "Repetitions of failed requests, by action"),
    (YIELDS, MetricKind::Counter, "Moves of a candidate behind a preferred one"),
];

/// Records that a lock or a leadership was acquired. `wait` is the time between the request and the
/// acquisition.
pub(crate) fn record_lock_wait(wait: Duration) {
    record(LOCK_WAIT, wait);
}

/// Timer of the time for which a claim holds its lock. Dropping the timer records the time.
#[derive(Debug)]
pub(crate) struct HoldTimer(Option<Instant>);

impl HoldTimer {
    pub(crate) fn start() -> HoldTimer {
        HoldTimer(Some(Instant::now()))
    }

    /// Records the time for which the lock was held. Further calls have no effect.
    pub(crate) fn stop(&mut self) {
        if let Some(started) = self.0.take() {
            record(LOCK_HOLD, started.elapsed());
        }
    }
}

impl Drop for HoldTimer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Records a renewal with its result. `latency` is the time to the response, if there was one.
pub(crate) fn renewal_finished(result: &'static str, latency: Option<Duration>) {
    count(RENEWALS, Some(("result", result)));
    if let Some(latency) = latency {
        record(RENEWAL_LATENCY, latency);
    }
}

pub(crate) fn session_started() {
    count(SESSIONS_STARTED, None);
}

pub(crate) fn session_ended(reason: LossReason) {
    let reason = match reason {
        LossReason::NotRenewed => "not_renewed",
        LossReason::LeaseEnded => "lease_ended",
        LossReason::KeyDeleted => "key_deleted",
        LossReason::AccessDenied => "access_denied",
        LossReason::Closed => "closed",
    };
    count(SESSIONS_ENDED, Some(("reason", reason)));
}

/// Records that the client has connected to a member. `is_first` is false if this connection
/// replaces an earlier connection of the same client.
pub(crate) fn member_connected(is_first: bool) {
    count(CONNECTIONS, None);
    if !is_first {
        count(RECONNECTS, None);
    }
}

pub(crate) fn request_retried(action: RetryAction) {
    let action = match action {
        RetryAction::Fail => return,
        RetryAction::Retry => "retry",
        RetryAction::Failover => "failover",
    };
    count(RETRIES, Some(("action", action)));
}

pub(crate) fn candidate_yielded() {
    count(YIELDS, None);
}

#[cfg(feature = "metrics")]
fn record(name: &'static str, time: Duration) {
    metrics::histogram!(name).record(time.as_secs_f64());
}

#[cfg(feature = "metrics")]
fn count(name: &'static str, label: Option<(&'static str, &'static str)>) {
    match label {
        Some((label, value)) => metrics::counter!(name, label => value).increment(1),
        None => metrics::counter!(name).increment(1),
    }
}

#[cfg(not(feature = "metrics"))]
const fn record(_name: &'static str, _time: Duration) {}

#[cfg(not(feature = "metrics"))]
const fn count(_name: &'static str, _label: Option<(&'static str, &'static str)>) {}

/// Describes all metrics of this crate to the installed recorder, so that an exporter can show
/// their units and descriptions. Call it once, after the recorder was installed.
#[cfg(feature = "metrics")]
pub fn describe_metrics() {
    for (name, kind, description) in METRICS {
        match kind {
            MetricKind::Counter => {
                metrics::describe_counter!(name, metrics::Unit::Count, description);
            }
            MetricKind::Seconds => {
                metrics::describe_histogram!(name, metrics::Unit::Seconds, description);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_conventions_and_are_documented() {
        let documentation = include_str!("../../README.md");
        for (name, kind, _) in METRICS {
            let suffix = if kind == MetricKind::Counter { "_total" } else { "_seconds" };
            assert!(name.starts_with("tenure_client_") && name.ends_with(suffix), "{name}");
            assert!(documentation.contains(&format!("`{name}`")), "{name} is not documented");
        }
    }
}
