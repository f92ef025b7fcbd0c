//! Random distributions of durations.

use std::fmt;
use std::str::FromStr;

use tenure_core::TICKS_PER_TIME_UNIT;
use tenure_trace::units::{format_ticks_as_time_units as units, parse_time_units};

use crate::engine::random::Random;
use crate::settings::error::SettingsError;

/// A random distribution of durations, in ticks.
///
/// On the command line, durations are in units: `1.5`, `1..3`, `exp:2` (mean), `lognormal:1,0.5`
/// (median, standard deviation of the logarithm).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Constant number of ticks.
    Constant(u64),
    /// Uniform distribution from `min` to `max`, both included.
    Uniform {
        /// Minimum, in ticks.
        min: u64,
        /// Maximum, in ticks.
        max: u64,
    },
    /// Exponential distribution: memoryless and unbounded.
    Exponential {
        /// Mean, in ticks.
        mean: u64,
    },
    /// Log-normal distribution: mostly short, sometimes very long.
    LogNormal {
        /// Median, in ticks.
        median: u64,
        /// Standard deviation of the natural logarithm of the duration.
        sigma: f64,
    },
}

/// Maximum time of a run and maximum duration, in ticks. A run ends before the first event after
/// this time. If a tick were a nanosecond, the time would be about 150 years.
pub(crate) const MAX_TIME: u64 = (1 << 62) - 1;

impl Distribution {
    /// A duration of zero ticks.
    pub const ZERO: Distribution = Distribution::Constant(0);

    /// Creates a constant duration of `time_units` units of virtual time.
    pub const fn time_units(time_units: u64) -> Self {
        Distribution::Constant(time_units * TICKS_PER_TIME_UNIT)
    }

    /// Creates a uniform distribution from `min` to `max`, in units.
    pub const fn between_time_units(min: u64, max: u64) -> Self {
        Distribution::Uniform { min: min * TICKS_PER_TIME_UNIT, max: max * TICKS_PER_TIME_UNIT }
    }

    /// Creates an exponential distribution with the mean `mean`, in units.
    pub const fn exponential_units(mean: u64) -> Self {
        Distribution::Exponential { mean: mean * TICKS_PER_TIME_UNIT }
    }

    /// Draws a duration, in ticks.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        match *self {
            Distribution::Constant(ticks) => ticks,
            Distribution::Uniform { min, max } => random.between(min, max),
            _ => self.draw_unbounded(random),
        }
    }

    #[cold]
    fn draw_unbounded(&self, random: &mut Random) -> u64 {
        let ticks = match *self {
            Distribution::Exponential { mean } => random.exponential(mean as f64),
            Distribution::LogNormal { median, sigma } => random.log_normal(median as f64, sigma),
            Distribution::Constant(ticks) | Distribution::Uniform { max: ticks, .. } => {
                ticks as f64
            }
        };
        (ticks as u64).min(MAX_TIME)
    }

    /// Returns the longest duration that can be drawn, in ticks; `None` for a distribution without
    /// a bound.
    pub const fn max_ticks(&self) -> Option<u64> {
        match *self {
            Distribution::Constant(ticks) => Some(ticks),
            Distribution::Uniform { max, .. } => Some(max),
            Distribution::Exponential { .. } | Distribution::LogNormal { .. } => None,
        }
    }

    /// Returns true if all drawn durations are equal.
    pub const fn is_constant(&self) -> bool {
        match *self {
            Distribution::Constant(_) => true,
            Distribution::Uniform { min, max } => min == max,
            Distribution::Exponential { .. } | Distribution::LogNormal { .. } => false,
        }
    }

    pub(crate) fn check(&self, setting: &'static str) -> Result<(), SettingsError> {
        match *self {
            Distribution::Uniform { min, max } if min > max => {
                Err(SettingsError::BackwardRange { setting, min, max })
            }
            Distribution::LogNormal { sigma, .. } if !(sigma.is_finite() && sigma >= 0.0) => {
                Err(SettingsError::InvalidDeviation { setting, sigma })
            }
            _ => Ok(()),
        }
    }
}

/// Parses a decimal number of units, such as `2.5`, and returns the number of ticks.
///
/// # Errors
///
/// [`SettingsError::InvalidText`] if the text is not a decimal number, or if the number is
/// negative. [`SettingsError::TooLongDuration`] if the number is larger than the maximum time of a
/// run.
pub fn parse_bounded_time_units(text: &str) -> Result<u64, SettingsError> {
    let message = "expected units such as 10 or 2.5";
    match parse_time_units(text) {
        Some(ticks) if ticks <= MAX_TIME => Ok(ticks),
        None if !is_decimal(text) => {
            Err(SettingsError::InvalidText { text: text.to_owned(), message })
        }
        _ => Err(SettingsError::TooLongDuration { text: text.to_owned() }),
    }
}

/// Returns true if the text is a decimal number of units, however large.
fn is_decimal(text: &str) -> bool {
    let fraction = text.trim_start_matches(|digit: char| digit.is_ascii_digit());
    fraction != text && parse_time_units(&format!("0{fraction}")).is_some()
}

impl FromStr for Distribution {
    type Err = SettingsError;

    fn from_str(text: &str) -> Result<Self, SettingsError> {
        let wrong = |text: &str| SettingsError::InvalidDuration { text: text.to_owned() };
        let units = |text: &str| {
            parse_bounded_time_units(text).map_err(|error| match error {
                SettingsError::TooLongDuration { .. } => error,
                _ => wrong(text),
            })
        };
        let message = "expected a time above 0, or 0 for none";
        let zero = || SettingsError::InvalidText { text: text.to_owned(), message };
        let above_zero = |ticks: u64| Some(ticks).filter(|ticks| *ticks > 0).ok_or_else(zero);
        let span = if let Some(mean) = text.strip_prefix("exp:") {
            Distribution::Exponential { mean: above_zero(units(mean)?)? }
        } else if let Some(rest) = text.strip_prefix("lognormal:") {
            let (median, sigma) = rest.split_once(',').ok_or_else(|| wrong(text))?;
            let sigma = sigma.parse().map_err(|_| wrong(text))?;
            Distribution::LogNormal { median: above_zero(units(median)?)?, sigma }
        } else if let Some((min, max)) = text.split_once("..") {
            Distribution::Uniform { min: units(min)?, max: units(max)? }
        } else {
            Distribution::Constant(units(text)?)
        };
        span.check("duration").map(|()| span)
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Distribution::Constant(ticks) => f.write_str(&units(ticks)),
            Distribution::Uniform { min, max } => write!(f, "{}..{}", units(min), units(max)),
            Distribution::Exponential { mean } => write!(f, "exp:{}", units(mean)),
            Distribution::LogNormal { median, sigma } => {
                write!(f, "lognormal:{},{sigma}", units(median))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_cover_range_including_ends() {
        let mut random = Random::new(1);
        let span = Distribution::Uniform { min: 3, max: 5 };
        let drawn: std::collections::BTreeSet<u64> =
            (0..200).map(|_| span.draw(&mut random)).collect();
        assert!(drawn.into_iter().eq(3..=5));
    }

    #[test]
    fn rejects_distributions_around_zero() {
        for text in ["exp:0", "exp:0.0", "lognormal:0,1"] {
            let message = text.parse::<Distribution>().unwrap_err().to_string();
            assert!(message.contains("expected a time above 0"), "{message}");
        }
        assert_eq!("0".parse(), Ok(Distribution::ZERO));
    }

    #[test]
    fn error_of_long_duration_names_maximum() {
        let longest = units(MAX_TIME);
        assert_eq!(longest.parse(), Ok(Distribution::Constant(MAX_TIME)));
        let max = format!("expected at most {longest} units");
        for text in ["4611686018427.387904", "99999999999999999999", "1..9999999999999"] {
            let message = text.parse::<Distribution>().unwrap_err().to_string();
            assert!(message.starts_with(&max), "{text}: {message}");
        }
        for text in ["", ".5", "1e18", "99999999999999.1234567", "-99999999999999"] {
            let message = text.parse::<Distribution>().unwrap_err().to_string();
            assert!(message.starts_with("expected units"), "{text}: {message}");
        }
    }
}
