//! The whole units of synchronous time at which a timer may fire.

use tenure_core::{Delay, TICKS_PER_TIME_UNIT};

/// Returns the first and the last whole unit of synchronous time at which a timer with the delay
/// `after` may fire. The rate of the timer's clock is off by at most `drift_ppm` parts per million.
///
/// The first unit is the earliest time at which a clock within this bound fires the timer, rounded
/// up. The last unit is the latest such time, rounded down, so that counterexamples are possible
/// with real clocks. But the last unit is at least `after.max`, rounded up, because a timer never
/// fires early.
pub(super) fn timer_units(after: Delay, drift_ppm: u32) -> (u32, u32) {
    const MILLION: u128 = 1_000_000;
    let (ticks, drift) = (u128::from(TICKS_PER_TIME_UNIT), u128::from(drift_ppm));
    // No search reaches the largest number of units.
    let whole = |units: u128| u32::try_from(units).unwrap_or(u32::MAX);
    let (min, max) = (u128::from(after.min), u128::from(after.max));
    let first = (min * MILLION).div_ceil((MILLION + drift) * ticks);
    let last = max * MILLION / ((MILLION - drift) * ticks);
    (whole(first), whole(last.max(max.div_ceil(ticks))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drift_widens_a_timer_to_the_whole_units_within_it() {
        let units = |min, max, drift| {
            let half = TICKS_PER_TIME_UNIT / 2;
            timer_units(Delay { min: min * half, max: max * half }, drift)
        };
        assert_eq!(units(18, 18, 0), (9, 9));
        assert_eq!(units(5, 5, 0), (3, 3), "rounded up");
        // The first timer may fire after 8.6 to 9.5 units, and the second after 9.5 to 10.5.
        assert_eq!((units(18, 18, 50_000), units(20, 20, 50_000)), ((9, 9), (10, 10)));
        // The first timer may fire after 8.2 to 10 units, and the second after 9.1 to 11.1.
        assert_eq!((units(18, 18, 100_000), units(20, 20, 100_000)), ((9, 10), (10, 11)));
        assert_eq!(units(10, 20, 500_000), (4, 20));
        assert_eq!(units(0, 0, 999_999), (0, 0));
        assert_eq!(units(1, u64::MAX / TICKS_PER_TIME_UNIT, 999_999).1, u32::MAX);
    }
}
