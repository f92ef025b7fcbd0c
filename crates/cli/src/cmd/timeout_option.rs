//! Value of the option `--timeout`, such as `answer=10..20`.

use std::fmt;
use std::str::FromStr;

use tenure_core::Delay;
use tenure_sim::{Distribution, SettingsError};

/// One value of `--timeout`: the name of a timeout of an algorithm, and its new delay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TimeoutOption {
    pub(super) name: String,
    pub(super) delay: Delay,
}

impl FromStr for TimeoutOption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let invalid = || "expected NAME=5 or NAME=10..20".to_owned();
        let (name, span) = text.split_once('=').ok_or_else(invalid)?;
        let duration = span.parse().map_err(|error| match error {
            SettingsError::TooLongDuration { .. } => error.to_string(),
            _ => invalid(),
        });
        let delay = match duration? {
            Distribution::Constant(ticks) => Delay::ticks(ticks),
            Distribution::Uniform { min, max } => Delay { min, max },
            Distribution::Exponential { .. } | Distribution::LogNormal { .. } => {
                return Err(invalid());
            }
        };
        if name.is_empty() || delay.max == 0 {
            return Err(invalid());
        }
        Ok(TimeoutOption { name: name.to_owned(), delay })
    }
}

impl fmt::Display for TimeoutOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, delay_as_distribution(self.delay))
    }
}

/// Converts a delay to a distribution. The `Display` output of the distribution is in virtual units
/// of time, for example `10..20`.
pub(crate) fn delay_as_distribution(delay: Delay) -> Distribution {
    let Delay { min, max } = delay;
    if min == max { Distribution::Constant(max) } else { Distribution::Uniform { min, max } }
}
