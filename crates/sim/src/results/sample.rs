//! Statistics of many values. The statistics of several parts can be merged in any order.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::results::moments::Moments;

/// Number of millionths in a unit.
const SCALE: f64 = 1e6;

/// Number of leading bits of a value that determine its bucket. Two values in one bucket differ by
/// at most 0.1 %.
const BUCKET_BITS: u32 = 11;

/// Statistics of many values, each a whole number of millionths.
///
/// The values can be divided into parts with separate statistics. Merging these statistics in any
/// order gives the statistics of all values, equal to the last bit. The reason is that sums are
/// exact, and that the bucket of a value depends on the value alone. A bucket keeps the number of
/// its values and the smallest of them. There are at most 1024 buckets for each power of two, so
/// the memory is bounded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleStatistics {
    count: u64,
    sum: u128,
    squares: u128,
    max: u64,
    /// Non-empty buckets by their numbers. A pair contains the smallest value in the bucket, and
    /// the number of values in the bucket.
    buckets: BTreeMap<u32, (u64, u64)>,
}

impl SampleStatistics {
    /// Creates a sample without values.
    pub fn new() -> Self {
        SampleStatistics::default()
    }

    /// Adds one value, in millionths.
    pub fn add(&mut self, millionths: u64) {
        self.count += 1;
        self.sum += u128::from(millionths);
        // The sum of the squares exceeds 128 bits only after a million values of about 2⁵⁴ each.
        self.squares = self.squares.saturating_add(u128::from(millionths) * u128::from(millionths));
        self.max = self.max.max(millionths);
        let bucket = self.buckets.entry(bucket(millionths)).or_insert((millionths, 0));
        bucket.0 = bucket.0.min(millionths);
        bucket.1 += 1;
    }

    /// Adds all values of another sample.
    pub fn merge(&mut self, other: &SampleStatistics) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares = self.squares.saturating_add(other.squares);
        self.max = self.max.max(other.max);
        for (place, (least, count)) in &other.buckets {
            let bucket = self.buckets.entry(*place).or_insert((*least, 0));
            bucket.0 = bucket.0.min(*least);
            bucket.1 += count;
        }
    }

    /// Returns the number of values.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns an approximation of a quantile, in units. The quantile is the smallest value such
    /// that at least `thousandths`/1000 of all values are less than or equal to it. The result is
    /// at most 0.1 % below the quantile. Returns 0 without values.
    pub fn quantile(&self, thousandths: u64) -> f64 {
        let rank = (u128::from(self.count) * u128::from(thousandths)).div_ceil(1000).max(1);
        let mut seen = 0;
        for (least, count) in self.buckets.values() {
            seen += u128::from(*count);
            if seen >= rank {
                return in_units(*least);
            }
        }
        0.0
    }

    /// Returns the moments of all values, converted from millionths to units.
    pub fn moments(&self) -> Moments {
        if self.count == 0 {
            return Moments::new();
        }
        let count = u128::from(self.count);
        let mean = self.sum as f64 / self.count as f64;
        // The numerator of the variance is the difference of two large numbers. Integers keep it
        // exact, and floats would lose it.
        let exact = count.checked_mul(self.squares).zip(self.sum.checked_mul(self.sum));
        let scaled = match exact {
            Some((squares, sum)) => squares.saturating_sub(sum) as f64,
            None => self.count as f64 * (self.squares as f64 - mean * self.sum as f64).max(0.0),
        };
        let squares = scaled / self.count as f64 / (SCALE * SCALE);
        let min = self.buckets.values().next().map_or(0, |(least, _)| *least);
        Moments::from_parts(self.count, mean / SCALE, squares, in_units(min), in_units(self.max))
    }
}

fn in_units(millionths: u64) -> f64 {
    millionths as f64 / SCALE
}

/// Returns the number of the bucket that contains `value`. Larger values have the same or a larger
/// bucket number.
fn bucket(value: u64) -> u32 {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(BUCKET_BITS);
    // No overflow: the first summand is below 54 · 1024, and the second is below 2^11.
    (shift << (BUCKET_BITS - 1)) + (value >> shift) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    fn sample(values: &[u64]) -> SampleStatistics {
        let mut sample = SampleStatistics::new();
        values.iter().for_each(|value| sample.add(*value));
        sample
    }

    #[test]
    fn merged_parts_equal_the_whole_in_any_order() {
        let mut random = Random::new(7);
        let values: Vec<u64> = (0..1000).map(|_| random.below(1 << 40)).collect();
        let whole = sample(&values);
        let parts: Vec<SampleStatistics> = values.chunks(64).map(sample).collect();
        let (mut forth, mut back) = (SampleStatistics::new(), SampleStatistics::new());
        parts.iter().for_each(|part| forth.merge(part));
        parts.iter().rev().for_each(|part| back.merge(part));
        assert_eq!((&forth, &back), (&whole, &whole));
        back.merge(&parts[0]);
        assert_ne!(back, whole, "a part that counts twice is noticed");
        let written = serde_json::to_string(&whole).expect("text");
        assert_eq!(serde_json::from_str::<SampleStatistics>(&written).expect("a sample"), whole);
    }

    #[test]
    fn moments_and_quantiles_match_a_plain_computation() {
        let mut random = Random::new(3);
        let mut values: Vec<u64> = (0..501).map(|_| 1_000_000 + random.below(90_000_000)).collect();
        let sample = sample(&values);
        let mut plain = Moments::new();
        values.iter().for_each(|value| plain.add(in_units(*value)));
        let moments = sample.moments();
        assert!((moments.mean() - plain.mean()).abs() < 1e-9);
        let deviations = moments.standard_deviation().zip(plain.standard_deviation());
        let (found, expected) = deviations.expect("many values");
        assert!((found - expected).abs() < 1e-9);
        assert_eq!((moments.min(), moments.max()), (plain.min(), plain.max()));
        values.sort_unstable();
        for (thousandths, place) in [(500, 250), (900, 450), (990, 495), (1000, 500), (0, 0)] {
            let exact = in_units(values[place]);
            let quantile = sample.quantile(thousandths);
            assert!((quantile - exact).abs() <= exact / 1000.0, "{thousandths}: {quantile}");
        }
    }

    #[test]
    fn equal_values_have_no_deviation() {
        let moments = sample(&[20_000_000; 9]).moments();
        assert_eq!((moments.mean(), moments.standard_deviation()), (20.0, Some(0.0)));
        assert_eq!(moments.confidence_interval(), Some((20.0, 20.0)));
        assert_eq!(SampleStatistics::new().moments(), Moments::new());
    }

    #[test]
    fn buckets_are_ordered_and_narrow() {
        let edges = [0, 1, 2047, 2048, 2049, 4095, 4096, u64::MAX - 1, u64::MAX];
        assert!(edges.windows(2).all(|pair| bucket(pair[0]) <= bucket(pair[1])));
        assert!(bucket(2047) < bucket(2048) && bucket(2048) == bucket(2049));
        assert_eq!(bucket(u64::MAX) >> 10, 54, "the memory is bounded");
    }
}
