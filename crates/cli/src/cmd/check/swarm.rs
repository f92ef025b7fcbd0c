//! Options of `tenure check --swarm`. A swarm consists of several randomized searches. Each
//! invocation of the command performs one of them.

use std::str::FromStr;

use clap::Args;
use tenure_check::SwarmMemberConfig;
use tenure_core::Property;

use crate::cmd::failure::Failure;
use crate::cmd::size::parse_byte_size;

/// Options that replace the exhaustive search of `tenure check` by one search of a swarm. Without
/// `--swarm`, they have no effect.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SwarmOptions {
    /// Instead of exploring everything, perform search I of N: depth-first, in a random order of
    /// its own, with a few bits for each state. For state spaces beyond memory. Violations are real
    /// runs, but not shortest ones; no property is reported to hold. Liveness is judged only where
    /// a run can end
    #[arg(long, value_name = "I/N")]
    #[arg(conflicts_with_all = ["measure", "exact", "threads", "fairness"])]
    #[arg(help_heading = "Swarm search")]
    swarm: Option<Member>,
    /// Size of the table of visited states of a swarm search, such as 64M or 4G [default: 256M]
    #[arg(long, value_name = "M", value_parser = parse_byte_size, requires = "swarm")]
    #[arg(help_heading = "Swarm search")]
    memory: Option<u64>,
    /// Maximum number of steps of a run in a swarm search [default: 10000]
    #[arg(long, value_name = "D", requires = "swarm")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    #[arg(help_heading = "Swarm search")]
    depth: Option<u32>,
}

/// One search of a swarm. For example, `3/8` is the third of eight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Member {
    /// Number of this search, from 1 to `of`.
    number: u64,
    /// Number of searches in the swarm.
    of: u64,
}

impl FromStr for Member {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse().ok().filter(|number| *number > 0);
        let parts = text.split_once('/').and_then(|(one, all)| Some((number(one)?, number(all)?)));
        let member = parts.filter(|(number, of)| number <= of);
        let member = member.map(|(number, of)| Member { number, of });
        member.ok_or_else(|| "expected I/N with I from 1 to N, such as 3/8".to_owned())
    }
}

impl SwarmOptions {
    /// Converts the options to the configuration of a swarm search. Returns `None` if the options
    /// request an exhaustive search instead.
    ///
    /// # Errors
    ///
    /// Returns a usage failure if the properties contain bounded-bypass without a bound. Its check
    /// measures the greatest bypass, and therefore needs all states.
    pub(super) fn config(
        &self,
        properties: &[Property],
    ) -> Result<Option<SwarmMemberConfig>, Failure> {
        let Some(Member { number, of }) = self.swarm else { return Ok(None) };
        if properties.contains(&Property::Bypass(None)) {
            let message = "--property bounded-bypass needs all states: with --swarm, give a bound, \
                           such as --property bounded-bypass=2";
            return Err(Failure::usage(message));
        }
        let default = SwarmMemberConfig::for_member(number, of);
        Ok(Some(SwarmMemberConfig {
            table_bytes: self.memory.unwrap_or(default.table_bytes),
            depth_max: self.depth.unwrap_or(default.depth_max),
            ..default
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_count_from_one() {
        assert_eq!("3/8".parse(), Ok(Member { number: 3, of: 8 }));
        for text in ["0/4", "5/4", "3", "/4", "1/0", "-1/4"] {
            assert!(text.parse::<Member>().is_err(), "{text}");
        }
    }

    #[test]
    fn rejects_a_measurement_of_bypass() {
        let swarm = Some(Member { number: 1, of: 2 });
        let options = SwarmOptions { swarm, memory: Some(1 << 20), depth: None };
        assert!(options.config(&[Property::Bypass(None)]).is_err());
        let bounded = options.config(&[Property::Bypass(Some(1))]).expect("a bound can be judged");
        assert_eq!(bounded.map(|config| config.table_bytes), Some(1 << 20));
        assert_eq!(SwarmOptions::default().config(&[]).expect("no swarm"), None);
    }
}
