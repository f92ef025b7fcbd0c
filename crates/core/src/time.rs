//! Time as algorithms see it: delays and the local clock.

use core::fmt;
use core::ops::{Add, Sub};

/// Number of ticks in one unit of virtual time. In the runtime a tick is a nanosecond, so a unit is
/// a millisecond.
pub const TICKS_PER_TIME_UNIT: u64 = 1_000_000;

/// Delay of a timer, in ticks: at least `min` and at most `max`.
///
/// The delay is a range, so that an algorithm with randomised timeouts need not draw random numbers
/// itself. Simulator and runtime draw a delay from the range. A checker that models time lets the
/// timer fire at any time in the range.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Delay {
    /// Lower bound, in ticks.
    pub min: u64,
    /// Upper bound, in ticks.
    pub max: u64,
}

impl Delay {
    /// Delay of zero ticks.
    pub const ZERO: Delay = Delay { min: 0, max: 0 };

    /// Creates a delay of exactly this many ticks.
    pub const fn ticks(ticks: u64) -> Self {
        Delay { min: ticks, max: ticks }
    }

    /// Creates a delay of exactly this many units (milliseconds in the runtime).
    pub const fn time_units(units: u64) -> Self {
        Delay::ticks(units * TICKS_PER_TIME_UNIT)
    }

    /// Creates a delay from `min` to `max` units. In the runtime, a unit is a millisecond.
    ///
    /// # Panics
    ///
    /// If `min` is above `max`.
    pub const fn between_time_units(min: u64, max: u64) -> Self {
        assert!(min <= max, "a delay's minimum may not exceed its maximum");
        Delay { min: min * TICKS_PER_TIME_UNIT, max: max * TICKS_PER_TIME_UNIT }
    }
}

impl fmt::Debug for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.min == self.max {
            write!(f, "{}", self.min)
        } else {
            write!(f, "{}..{}", self.min, self.max)
        }
    }
}

/// A reading of a process's own clock, in ticks since an arbitrary start.
///
/// Clocks of different processes are unrelated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LocalTime(pub u64);

impl LocalTime {
    /// Reading of a clock at its start.
    pub const ZERO: LocalTime = LocalTime(0);
}

impl Sub for LocalTime {
    type Output = u64;

    /// Returns the number of ticks since `earlier`, or 0 if the clock was set back since then.
    fn sub(self, earlier: LocalTime) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<u64> for LocalTime {
    type Output = LocalTime;

    /// Returns the time `ticks` later, or the largest time if that is later.
    fn add(self, ticks: u64) -> LocalTime {
        LocalTime(self.0.saturating_add(ticks))
    }
}
