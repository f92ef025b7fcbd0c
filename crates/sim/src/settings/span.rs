//! How long something lasts.

use std::fmt;
use std::str::FromStr;

use tenure_core::TICKS_PER_UNIT;
use tenure_trace::units::{exact as units, ticks};

use crate::engine::random::Random;
use crate::settings::refusal::SettingsError;

/// How long something lasts, in ticks: a distribution to draw from.
///
/// On the command line: `1.5`, `1..3`, `exp:2`, `lognormal:1,0.5` (median, deviation of the
/// logarithm), in units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Span {
    /// Always this many ticks.
    Constant(u64),
    /// Any number of ticks in this range, both ends included, equally likely.
    Uniform {
        /// The fewest ticks.
        min: u64,
        /// The most ticks.
        max: u64,
    },
    /// Exponential: without memory and without bound.
    Exponential {
        /// The mean, in ticks.
        mean: u64,
    },
    /// Log-normal: mostly short, sometimes very long.
    LogNormal {
        /// Half of all draws are below this many ticks.
        median: u64,
        /// The deviation of the natural logarithm.
        sigma: f64,
    },
}

/// No draw is longer than this: about 300 years at a nanosecond a tick, half of it.
const LONGEST: f64 = (1u64 << 62) as f64;

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span::Constant(0);

    /// Always this many units.
    pub const fn units(units: u64) -> Self {
        Span::Constant(units * TICKS_PER_UNIT)
    }

    /// Uniform between two numbers of units.
    pub const fn between_units(min: u64, max: u64) -> Self {
        Span::Uniform { min: min * TICKS_PER_UNIT, max: max * TICKS_PER_UNIT }
    }

    /// Exponential with a mean in units.
    pub const fn exponential_units(mean: u64) -> Self {
        Span::Exponential { mean: mean * TICKS_PER_UNIT }
    }

    /// Draws one, in ticks.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        match *self {
            Span::Constant(ticks) => ticks,
            Span::Uniform { min, max } => random.between(min, max),
            _ => self.draw_unbounded(random),
        }
    }

    #[cold]
    fn draw_unbounded(&self, random: &mut Random) -> u64 {
        let ticks = match *self {
            Span::Exponential { mean } => random.exponential(mean as f64),
            Span::LogNormal { median, sigma } => random.log_normal(median as f64, sigma),
            Span::Constant(ticks) | Span::Uniform { max: ticks, .. } => ticks as f64,
        };
        ticks.min(LONGEST) as u64
    }

    /// The longest that can be drawn, in ticks; `None` when there is no bound.
    pub const fn most(&self) -> Option<u64> {
        match *self {
            Span::Constant(ticks) => Some(ticks),
            Span::Uniform { max, .. } => Some(max),
            Span::Exponential { .. } | Span::LogNormal { .. } => None,
        }
    }

    /// Whether every draw is the same.
    pub const fn is_constant(&self) -> bool {
        match *self {
            Span::Constant(_) => true,
            Span::Uniform { min, max } => min == max,
            Span::Exponential { .. } | Span::LogNormal { .. } => false,
        }
    }

    pub(crate) fn check(&self, what: &'static str) -> Result<(), SettingsError> {
        match *self {
            Span::Uniform { min, max } if min > max => {
                Err(SettingsError::BackwardRange { what, min, max })
            }
            Span::LogNormal { sigma, .. } if !(sigma.is_finite() && sigma >= 0.0) => {
                Err(SettingsError::Deviation { what, sigma })
            }
            _ => Ok(()),
        }
    }
}

/// Reads a decimal number of units as ticks.
///
/// # Errors
///
/// When it is no number, negative, or longer than a run can be.
pub fn parse_units(text: &str) -> Result<u64, SettingsError> {
    let says = "is no time; write units like 10 or 2.5";
    let wrong = || SettingsError::Words { text: text.to_owned(), says };
    ticks(text).filter(|ticks| *ticks < 1 << 62).ok_or_else(wrong)
}

impl FromStr for Span {
    type Err = SettingsError;

    fn from_str(text: &str) -> Result<Self, SettingsError> {
        let wrong = |text: &str| SettingsError::Duration { text: text.to_owned() };
        let units = |text: &str| parse_units(text).map_err(|_| wrong(text));
        let says = "is a distribution of times around zero; write a time above 0, or 0 for none";
        let zero = || SettingsError::Words { text: text.to_owned(), says };
        let above_zero = |ticks: u64| Some(ticks).filter(|ticks| *ticks > 0).ok_or_else(zero);
        let span = if let Some(mean) = text.strip_prefix("exp:") {
            Span::Exponential { mean: above_zero(units(mean)?)? }
        } else if let Some(rest) = text.strip_prefix("lognormal:") {
            let (median, sigma) = rest.split_once(',').ok_or_else(|| wrong(text))?;
            let sigma = sigma.parse().map_err(|_| wrong(text))?;
            Span::LogNormal { median: above_zero(units(median)?)?, sigma }
        } else if let Some((min, max)) = text.split_once("..") {
            Span::Uniform { min: units(min)?, max: units(max)? }
        } else {
            Span::Constant(units(text)?)
        };
        span.check("duration").map(|()| span)
    }
}

/// How the command line writes it.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Span::Constant(ticks) => f.write_str(&units(ticks)),
            Span::Uniform { min, max } => write!(f, "{}..{}", units(min), units(max)),
            Span::Exponential { mean } => write!(f, "exp:{}", units(mean)),
            Span::LogNormal { median, sigma } => write!(f, "lognormal:{},{sigma}", units(median)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_stay_within_bounds_and_reach_both_ends() {
        let mut random = Random::new(1);
        let span = Span::Uniform { min: 3, max: 5 };
        let drawn: std::collections::BTreeSet<u64> =
            (0..200).map(|_| span.draw(&mut random)).collect();
        assert!(drawn.into_iter().eq(3..=5));
    }

    #[test]
    fn rejects_distributions_around_zero() {
        for text in ["exp:0", "exp:0.0", "lognormal:0,1"] {
            let says = text.parse::<Span>().unwrap_err().to_string();
            assert!(says.contains("write a time above 0"), "{says}");
        }
        assert_eq!("0".parse(), Ok(Span::ZERO));
    }
}
