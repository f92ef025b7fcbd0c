//! Histograms of the durations that a member measures for its own clients.

use tenure_runtime::DurationHistogram;

#[derive(Debug)]
pub(crate) struct LatencyHistograms {
    /// Times from the admission of a command until this member has applied it.
    pub(crate) commits: DurationHistogram,
    /// Durations of successful lease renewals, from the arrival of a request until its response.
    pub(crate) renewals: DurationHistogram,
    /// Times from the moment at which this member applied an event until the event was passed to
    /// its watch stream.
    pub(crate) watch_lags: DurationHistogram,
}

impl Default for LatencyHistograms {
    fn default() -> Self {
        let fast = || DurationHistogram::new(DurationHistogram::FAST_BOUNDS_SECONDS);
        LatencyHistograms { commits: fast(), renewals: fast(), watch_lags: fast() }
    }
}
