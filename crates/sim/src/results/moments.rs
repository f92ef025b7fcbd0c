//! Mean, deviation, extremes and confidence interval of a series of values.

use std::num::NonZeroU64;

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

/// Count, mean, deviation and extremes of many values of one measurement.
///
/// If values are added in a fixed order, the result is the same to the last bit on every machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    count: u64,
    mean: f64,
    /// Sum of the squared differences from the mean.
    squares: f64,
    min: f64,
    max: f64,
}

impl Moments {
    /// Creates moments without values.
    pub fn new() -> Self {
        Moments::default()
    }

    /// Creates moments from their parts. `squares` is the sum of the squared differences from the
    /// mean.
    pub(crate) const fn from_parts(
        count: u64,
        mean: f64,
        squares: f64,
        min: f64,
        max: f64,
    ) -> Self {
        Moments { count, mean, squares, min, max }
    }

    /// Adds one value, by Welford's recurrence.
    pub fn add(&mut self, value: f64) {
        (self.min, self.max) = match self.count {
            0 => (value, value),
            _ => (self.min.min(value), self.max.max(value)),
        };
        self.count += 1;
        let from_mean = value - self.mean;
        self.mean += from_mean / self.count as f64;
        self.squares += from_mean * (value - self.mean);
    }

    /// Returns the number of values.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the mean; 0 without values.
    pub const fn mean(&self) -> f64 {
        self.mean
    }

    /// Returns the smallest value; 0 without values.
    pub const fn min(&self) -> f64 {
        self.min
    }

    /// Returns the largest value; 0 without values.
    pub const fn max(&self) -> f64 {
        self.max
    }

    /// Returns the sample standard deviation; `None` for fewer than two values.
    pub fn standard_deviation(&self) -> Option<f64> {
        let freedom = self.degrees_of_freedom()?;
        Some(libm::sqrt(self.squares / freedom.get() as f64))
    }

    /// Returns the standard error of the mean; `None` for fewer than two values.
    pub fn standard_error(&self) -> Option<f64> {
        Some(self.standard_deviation()? / libm::sqrt(self.count as f64))
    }

    /// Returns the lower and the upper limit of the 95 % confidence interval of the mean, by
    /// Student's distribution. Returns `None` for fewer than two values, because they do not
    /// determine the deviation.
    pub fn confidence_interval(&self) -> Option<(f64, f64)> {
        let half = student(self.degrees_of_freedom()?) * self.standard_error()?;
        Some((self.mean - half, self.mean + half))
    }

    /// Returns the number of values minus 1; `None` for fewer than two values.
    fn degrees_of_freedom(&self) -> Option<NonZeroU64> {
        NonZeroU64::new(self.count.saturating_sub(1))
    }

    /// Returns true if `predicted` differs from the mean by at most `standard_errors` standard
    /// errors. If the values do not vary, or there are fewer than two, `predicted` must be equal to
    /// the mean, up to rounding.
    pub fn agrees_with(&self, predicted: f64, standard_errors: f64) -> bool {
        let error = self.standard_error().unwrap_or(0.0);
        let slack = standard_errors * error + 1e-9 * predicted.abs();
        (self.mean - predicted).abs() <= slack
    }
}

impl Serialize for Moments {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let confidence = self.confidence_interval().map(|(low, high)| [low, high]);
        let mut moments = to.serialize_struct("Moments", 6)?;
        moments.serialize_field("count", &self.count)?;
        moments.serialize_field("mean", &self.mean)?;
        moments.serialize_field("stddev", &self.standard_deviation())?;
        moments.serialize_field("min", &self.min)?;
        moments.serialize_field("max", &self.max)?;
        moments.serialize_field("confidence", &confidence)?;
        moments.end()
    }
}

/// Returns the 97.5 % quantile of Student's distribution with `freedom` degrees of freedom, correct
/// to about two decimals. Above 10 degrees of freedom, the function uses the Cornish–Fisher
/// expansion.
fn student(freedom: NonZeroU64) -> f64 {
    const SMALL: [f64; 10] = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23];
    let place = usize::try_from(freedom.get() - 1);
    if let Some(quantile) = place.ok().and_then(|place| SMALL.get(place)) {
        return *quantile;
    }
    let (z, freedom) = (1.959_964, freedom.get() as f64);
    z + (z * z * z + z) / (4.0 * freedom)
        + (5.0 * z * z * z * z * z + 16.0 * z * z * z + 3.0 * z) / (96.0 * freedom * freedom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computes_moments() {
        let mut moments = Moments::new();
        for value in [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0] {
            moments.add(value);
        }
        assert!((moments.mean() - 5.0).abs() < 1e-12);
        let deviation = moments.standard_deviation().expect("eight values");
        assert!((deviation - libm::sqrt(32.0 / 7.0)).abs() < 1e-12);
        assert_eq!((moments.min(), moments.max()), (2.0, 9.0));
        assert!(moments.agrees_with(6.0, 4.0));
        assert!(!moments.agrees_with(9.0, 4.0));
    }

    #[test]
    fn quantile_approximation_continues_table() {
        let student = |freedom| student(NonZeroU64::new(freedom).expect("not zero"));
        let (first, last, next) = (student(1), student(10), student(11));
        assert!((first - 12.706).abs() < 0.005 && (last - 2.228).abs() < 0.005, "{first}, {last}");
        assert!((next - 2.201).abs() < 0.005, "{next}");
        assert!((student(1_000_000) - 1.96).abs() < 0.001);
    }

    #[test]
    fn one_value_has_no_interval() {
        let mut moments = Moments::new();
        assert_eq!((moments.standard_deviation(), moments.confidence_interval()), (None, None));
        moments.add(3.0);
        assert_eq!((moments.standard_deviation(), moments.confidence_interval()), (None, None));
        assert!(moments.agrees_with(3.0, 4.0) && !moments.agrees_with(3.1, 4.0));
        let json = serde_json::to_value(moments).expect("JSON");
        assert!(json["stddev"].is_null() && json["confidence"].is_null(), "{json}");
        moments.add(5.0);
        let (low, high) = moments.confidence_interval().expect("two values");
        assert!((high - 16.71).abs() < 1e-9 && (low + 8.71).abs() < 1e-9, "{low} … {high}");
    }

    #[test]
    fn constant_values_agree_only_exactly() {
        let mut moments = Moments::new();
        (0..10).for_each(|_| moments.add(3.0));
        assert!(moments.agrees_with(3.0, 4.0));
        assert!(!moments.agrees_with(3.1, 4.0));
    }
}
