//! Quantiles of any number of durations in bounded memory.

use std::collections::BTreeMap;

use super::Quantiles;

/// Maximum number of distinct durations stored exactly.
const MAX_EXACT: usize = 1 << 16;

/// Number of leading bits of a duration that are stored if there are more than [`MAX_EXACT`]
/// distinct durations. Durations are then rounded to the nearest value with this many leading bits.
/// The resulting error is at most 1/2048, which is less than 0.05 %.
///
/// There are fewer than [`MAX_EXACT`] such values: 1,024 for each position of the highest set bit.
const LEADING_BITS: u32 = 11;

/// Multiset of durations, from which quantiles can be computed. Its memory is bounded.
#[derive(Clone, Debug, Default)]
pub(super) struct Durations {
    /// Number of occurrences of each duration, in ticks or nanoseconds.
    seen: BTreeMap<u64, u64>,
    /// True if durations are stored with reduced precision, rounded to their leading bits.
    rounded: bool,
    count: u64,
    sum: u128,
    longest: u64,
}

impl Durations {
    pub(super) fn add(&mut self, ticks: u64) {
        self.count += 1;
        self.sum += u128::from(ticks);
        self.longest = self.longest.max(ticks);
        let key = if self.rounded { round_to_leading_bits(ticks) } else { ticks };
        *self.seen.entry(key).or_insert(0) += 1;
        if !self.rounded && self.seen.len() > MAX_EXACT {
            self.rounded = true;
            for (ticks, times) in std::mem::take(&mut self.seen) {
                *self.seen.entry(round_to_leading_bits(ticks)).or_insert(0) += times;
            }
        }
    }

    pub(super) fn retained_count(&self) -> usize {
        self.seen.len()
    }

    /// Returns the mean and the quantiles, in milliseconds of real time or units of virtual time.
    /// All are 0 if there are no durations.
    pub(super) fn quantiles(&self) -> Quantiles {
        if self.count == 0 {
            return Quantiles::default();
        }
        let mean = self.sum as f64 / self.count as f64 / 1e6;
        let max = self.longest as f64 / 1e6;
        Quantiles { mean, p50: self.rank(50), p99: self.rank(99), max }
    }

    /// Returns the smallest duration *d* such that at least `percent` percent of all durations are
    /// at most *d*. The result is in milliseconds of real time or units of virtual time.
    fn rank(&self, percent: u64) -> f64 {
        let mut left = (self.count * percent).div_ceil(100);
        let mut seen = self.seen.iter();
        let found = seen.find(|(_, times)| {
            left = left.saturating_sub(**times);
            left == 0
        });
        // A rounded duration may exceed the longest one.
        found.map_or(0.0, |(ticks, _)| (*ticks).min(self.longest) as f64 / 1e6)
    }
}

/// Rounds a duration to the nearest value with at most [`LEADING_BITS`] bits from the highest set
/// bit on. All other bits are 0.
fn round_to_leading_bits(ticks: u64) -> u64 {
    let spare = (u64::BITS - ticks.leading_zeros()).saturating_sub(LEADING_BITS);
    ticks.saturating_add((1 << spare) >> 1) >> spare << spare
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_durations_are_exact() {
        let mut durations = Durations::default();
        (1..=100).rev().for_each(|ms| durations.add(ms * 1_000_000));
        let Quantiles { mean, p50, p99, max } = durations.quantiles();
        assert_eq!((mean, p50, p99, max), (50.5, 50.0, 99.0, 100.0));
    }

    #[test]
    fn many_durations_use_bounded_memory_with_small_error() {
        let mut durations = Durations::default();
        let all = 1_000_000_u64;
        (1..=all).for_each(|ticks| durations.add(ticks * 1_009));
        assert!(durations.seen.len() < MAX_EXACT, "{} are held", durations.seen.len());
        let Quantiles { p50, p99, max, .. } = durations.quantiles();
        let exact = |ticks: u64| (ticks * 1_009) as f64 / 1e6;
        assert!((p50 / exact(all / 2) - 1.0).abs() < 5e-4, "{p50}");
        assert!((p99 / exact(all / 100 * 99) - 1.0).abs() < 5e-4, "{p99}");
        assert_eq!(max, exact(all), "the longest is known exactly");
    }

    #[test]
    fn rounded_durations_have_small_error() {
        for highest in 0..u64::BITS {
            for offset in 0..4096 {
                let ticks = (1 << highest) + (((1_u128 << highest) * offset) >> 12) as u64;
                let error = round_to_leading_bits(ticks).abs_diff(ticks);
                assert!(u128::from(error) * 2048 <= u128::from(ticks), "{ticks}: {error}");
            }
        }
        assert_eq!(round_to_leading_bits(0), 0);
        let error = u64::MAX - round_to_leading_bits(u64::MAX);
        assert!(error <= u64::MAX / 2048, "{error}");
    }

    #[test]
    fn quantiles_do_not_exceed_the_longest_duration() {
        let mut durations = Durations::default();
        let longest = (1 << 30) - 1;
        (0..=MAX_EXACT as u64).for_each(|ticks| durations.add(longest - ticks));
        assert!(durations.rounded);
        let Quantiles { p99, max, .. } = durations.quantiles();
        assert!(p99 <= max, "{p99} {max}");
    }
}
