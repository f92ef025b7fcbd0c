/// Durations that were measured, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many.
    pub count: u64,
    /// All together, in ticks.
    pub total: u128,
    /// The longest, in ticks.
    pub longest: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, ticks: u64) {
        self.count += 1;
        self.total += u128::from(ticks);
        self.longest = self.longest.max(ticks);
    }

    /// The mean, in ticks; 0 when nothing was measured.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.total as f64 / self.count as f64 }
    }
}

/// A number that changes over time: its maximum, and its mean weighted by time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Level {
    now: u64,
    /// The highest it ever was.
    pub highest: u64,
    area: u128,
    since: u64,
}

impl Level {
    pub(crate) fn change(&mut self, time: u64, up: bool) {
        self.settle(time);
        self.now = if up { self.now + 1 } else { self.now.saturating_sub(1) };
        self.highest = self.highest.max(self.now);
    }

    /// Counts the time up to `time` at the present level.
    pub(crate) fn settle(&mut self, time: u64) {
        self.area += u128::from(self.now) * u128::from(time.saturating_sub(self.since));
        self.since = time;
    }

    pub(crate) const fn now(&self) -> u64 {
        self.now
    }

    /// The mean up to the last change; 0 before time has passed.
    pub fn mean(&self) -> f64 {
        if self.since == 0 { 0.0 } else { self.area as f64 / self.since as f64 }
    }
}
