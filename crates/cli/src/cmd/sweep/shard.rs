//! Shards, which divide the runs of a sweep among several processes.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

const MAX_SHARDS: u64 = 1_000_000;

/// One of several disjoint parts into which the runs of each point are divided. For example, `3/64`
/// is the third of 64 parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shard {
    /// Number of this shard, from 1.
    pub(super) shard: u64,
    /// Number of all shards.
    pub(super) of: u64,
}

impl Shard {
    /// The shard of a process that performs all runs.
    pub(super) const WHOLE: Shard = Shard { shard: 1, of: 1 };

    /// Returns the numbers of the runs in this shard. Each point of the sweep has `all` runs,
    /// numbered from 0. Each run is in exactly one shard. The sizes of the shards differ by at most
    /// one.
    pub(super) fn runs(self, all: u64) -> Range<u64> {
        let end = |shard: u64| {
            let end = u128::from(all) * u128::from(shard) / u128::from(self.of);
            u64::try_from(end).unwrap_or(all)
        };
        end(self.shard - 1)..end(self.shard)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.shard, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse().ok().filter(|it| (1..=MAX_SHARDS).contains(it));
        let parts = text.split_once('/').and_then(|(one, all)| Some((number(one)?, number(all)?)));
        let shard = parts.filter(|(shard, of)| shard <= of).map(|(shard, of)| Shard { shard, of });
        shard.ok_or_else(|| "expected I/N with I from 1 to N, such as 3/64".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_partition_the_runs() {
        for (of, all) in [(1, 10), (3, 10), (64, 1024), (64, 1000), (7, 3)] {
            let runs = (1..=of).flat_map(|shard| Shard { shard, of }.runs(all));
            assert!(runs.eq(0..all), "{all} runs in {of} shards");
        }
    }

    #[test]
    fn shards_count_from_one() {
        assert_eq!("3/64".parse(), Ok(Shard { shard: 3, of: 64 }));
        for text in ["0/4", "5/4", "3", "/4", "1/0", "-1/4", "1/2/3"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
