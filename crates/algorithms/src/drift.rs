//! Timeouts under a known bound on the drift of clocks.
//!
//! If the drift of a clock is at most *r*, the clock advances by 1 − *r* to 1 + *r* ticks in one
//! tick of real time. While the slowest clock measures *t* ticks, the fastest clock measures up to
//! *t* (1 + *r*)/(1 − *r*) ticks.

const MILLION: u128 = 1_000_000;

/// Returns how many ticks the fastest clock advances while the slowest clock advances by `ticks`,
/// rounded up. Clocks drift by at most `drift_ppm` parts per million. A drift of a million or more
/// counts as 999,999, and the result is at most `u64::MAX`.
pub(crate) fn ticks_on_fastest_clock(ticks: u64, drift_ppm: u32) -> u64 {
    let drift = u128::from(drift_ppm).min(MILLION - 1);
    let shown = (u128::from(ticks) * (MILLION + drift)).div_ceil(MILLION - drift);
    u64::try_from(shown).unwrap_or(u64::MAX)
}

/// Returns the largest drift that keeps two timeouts in order, in parts per million, rounded down.
/// With this drift, `short_ticks` ticks on the slowest clock end no later than `long_ticks` ticks
/// on the fastest clock. Returns 0 if there is no such drift.
pub(crate) fn tolerated_drift_ppm(short_ticks: u64, long_ticks: u64) -> u32 {
    let (short, long) = (u128::from(short_ticks), u128::from(long_ticks));
    let margin = long.saturating_sub(short) * MILLION / (long + short).max(1);
    u32::try_from(margin).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_clock_stretches_a_timeout() {
        assert_eq!(ticks_on_fastest_clock(7, 0), 7);
        assert_eq!(ticks_on_fastest_clock(10, 900_000), 190);
        assert_eq!(ticks_on_fastest_clock(3, 200_000), 5, "4.5 is rounded up");
        assert_eq!(ticks_on_fastest_clock(u64::MAX, 500_000), u64::MAX);
    }

    #[test]
    fn tolerated_drift_is_the_largest_that_keeps_the_order() {
        assert_eq!((tolerated_drift_ppm(9, 10), tolerated_drift_ppm(11, 12)), (52_631, 43_478));
        assert_eq!(
            (tolerated_drift_ppm(10, 10), tolerated_drift_ppm(12, 11), tolerated_drift_ppm(0, 0)),
            (0, 0, 0)
        );
        for (short, long) in [(9_000_000, 10_000_000), (11_000_000, 12_000_000)] {
            let most = tolerated_drift_ppm(short, long);
            assert!(
                ticks_on_fastest_clock(short, most) <= long
                    && ticks_on_fastest_clock(short, most + 2) > long
            );
        }
    }
}
