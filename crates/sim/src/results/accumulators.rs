//! Accumulators for measurements. [`DurationStats`] summarizes durations. [`TimeWeightedGauge`]
//! follows a number that changes over time.

/// Number, sum and maximum of measured durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DurationStats {
    /// Number of measurements.
    pub count: u64,
    /// Sum of the durations, in ticks.
    pub total: u128,
    /// Longest duration, in ticks.
    pub longest: u64,
}

impl DurationStats {
    pub(crate) fn add(&mut self, ticks: u64) {
        self.count += 1;
        self.total += u128::from(ticks);
        self.longest = self.longest.max(ticks);
    }

    /// Returns the mean of the durations, in ticks. Returns 0 if there are no measurements.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.total as f64 / self.count as f64 }
    }
}

/// A number that changes over time, with its maximum and its time-weighted mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeWeightedGauge {
    /// Present value of the gauge.
    now: u64,
    /// Highest value that the gauge has had so far.
    pub highest: u64,
    /// Sum of value times duration up to the time `since`, in ticks.
    area: u128,
    /// Time up to which the mean is computed, in ticks.
    since: u64,
}

impl TimeWeightedGauge {
    /// Increases the gauge by 1 at the time `time` if `is_increase` is true. Otherwise, decreases
    /// it by 1, but not below 0.
    pub(crate) fn change(&mut self, time: u64, is_increase: bool) {
        self.extend_mean_to(time);
        self.now = if is_increase { self.now + 1 } else { self.now.saturating_sub(1) };
        self.highest = self.highest.max(self.now);
    }

    /// Extends the time-weighted mean up to the time `time`, in ticks. The gauge has had its
    /// present value since the last change.
    pub(crate) fn extend_mean_to(&mut self, time: u64) {
        self.area += u128::from(self.now) * u128::from(time.saturating_sub(self.since));
        self.since = time;
    }

    pub(crate) const fn current(&self) -> u64 {
        self.now
    }

    /// Returns the time-weighted mean. It covers the time from 0 to the end of the run, or to the
    /// last change if the run has not ended. Returns 0 if no time has passed.
    pub fn mean(&self) -> f64 {
        if self.since == 0 { 0.0 } else { self.area as f64 / self.since as f64 }
    }
}

/// Returns `part` divided by `whole`; 0 if `whole` is 0.
pub(crate) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
