//! The options of sweeps, which `simulate` and `compare` share.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::axis::SweepAxis;
use super::shard::Shard;

/// Options that make many measurements of one command.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SweepOptions {
    /// Measure at each of these values of an option: n=3..50, n=3..50:5 (every fifth), entries=1,3,
    /// latency=exp:1,exp:4; repeatable, for all combinations. Locks have 3 entries and the latency
    /// 1..9 unless they are given; 30 runs a point unless --runs is given
    #[arg(long, value_name = "NAME=VALUES", help_heading = "Sweeps")]
    pub(crate) sweep: Vec<SweepAxis>,
    /// Also write the figures of each run to this file, as CSV
    #[arg(long, value_name = "FILE", help_heading = "Sweeps")]
    pub(crate) raw: Option<PathBuf>,
    /// Perform only this share of the runs of each point, 3/64, and print its results for `tenure
    /// merge`
    #[arg(long, value_name = "I/N", conflicts_with_all = ["plot", "format"])]
    #[arg(help_heading = "Sweeps")]
    pub(crate) shard: Option<Shard>,
}

/// Output format of measurements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum MeasureFormat {
    /// Text for people
    #[default]
    Text,
    /// JSON, one document
    Json,
    /// Comma-separated values: a line for each figure of each point
    Csv,
    /// JSON lines: an object for each point
    Jsonl,
}

impl SweepOptions {
    /// Returns true if these options or the format request a sweep instead of ordinary output.
    pub(crate) fn is_sweep_requested(&self, format: MeasureFormat) -> bool {
        let is_tabular = matches!(format, MeasureFormat::Csv | MeasureFormat::Jsonl);
        !self.sweep.is_empty() || self.raw.is_some() || self.shard.is_some() || is_tabular
    }
}
