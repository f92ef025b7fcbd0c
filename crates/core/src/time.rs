//! Time as algorithms may see it: ranges to wait, and one's own clock.

use core::fmt;
use core::ops::{Add, Sub};

/// Ticks in one unit of virtual time. In the runtime a tick is a nanosecond and a unit a
/// millisecond.
pub const TICKS_PER_UNIT: u64 = 1_000_000;

/// How long a timer may wait, in ticks: at least `min`, at most `max`.
///
/// A range rather than a moment: randomised timeouts need no randomness in the algorithm, and
/// a checker may fire the timer anywhere in it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Delay {
    /// Not before this many ticks.
    pub min: u64,
    /// Not after this many ticks.
    pub max: u64,
}

impl Delay {
    /// At once.
    pub const NONE: Delay = Delay { min: 0, max: 0 };

    /// After exactly this many ticks.
    pub const fn ticks(ticks: u64) -> Self {
        Delay { min: ticks, max: ticks }
    }

    /// After exactly this many units (milliseconds, in the runtime).
    pub const fn units(units: u64) -> Self {
        Delay::ticks(units * TICKS_PER_UNIT)
    }

    /// Somewhere between two numbers of units.
    ///
    /// # Panics
    ///
    /// When `min` is above `max`.
    pub const fn between_units(min: u64, max: u64) -> Self {
        assert!(min <= max, "a delay's minimum may not exceed its maximum");
        Delay { min: min * TICKS_PER_UNIT, max: max * TICKS_PER_UNIT }
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

/// A reading of one process's own clock, in ticks since an arbitrary start.
///
/// Clocks of different processes have nothing to do with one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LocalTime(pub u64);

impl LocalTime {
    /// The start of the clock.
    pub const ZERO: LocalTime = LocalTime(0);
}

impl Sub for LocalTime {
    type Output = u64;

    /// The ticks that passed since `earlier`; 0 when the clock was set back.
    fn sub(self, earlier: LocalTime) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<u64> for LocalTime {
    type Output = LocalTime;

    fn add(self, ticks: u64) -> LocalTime {
        LocalTime(self.0 + ticks)
    }
}
