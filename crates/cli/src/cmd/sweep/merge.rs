//! `tenure merge`: merges the results of several processes that have each performed a part of the
//! runs of a sweep.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use clap::Args;
use tenure_trace::files;

use super::options::MeasureFormat;
use super::plot;
use super::print_results;
use super::results::SweepResults;
use super::shard_results::ShardResults;
use crate::cmd::failure::{Failure, Status};

const MAX_LISTED: usize = 20;

/// Merge the results of all shards of a command into those of one run
///
/// The files are the output of `--shard I/N`, in any order. The merged output equals that of the
/// command without --shard, to the byte; for text, that of the command with --sweep. A shard that
/// is given twice counts once. Exit status 2: a shard is missing, or the files are of different
/// commands.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  tenure compare mutex --sweep n=3..50 --runs 1000 --shard 1/2 > part-1.jsonl
  tenure compare mutex --sweep n=3..50 --runs 1000 --shard 2/2 > part-2.jsonl
  tenure merge part-*.jsonl --format csv")]
pub(crate) struct Options {
    /// Output of all shards
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Plot the figures against the first parameter of --sweep, as .svg, .png or .pdf
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: MeasureFormat,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    if let Some(path) = &options.plot {
        plot::check_can_write_plot(path)?;
    }
    let results = merge(&options.files)?;
    print_results(&results, options.format, options.plot.as_deref())?;
    Ok(results.status())
}

fn merge(files: &[PathBuf]) -> Result<SweepResults, Failure> {
    let mut parts = Parts::default();
    for path in files {
        let part = read(path)?;
        parts.add(path, part)?;
    }
    parts.merged()
}

fn read(path: &Path) -> Result<ShardResults, Failure> {
    let file = files::open(path);
    let file = file.map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    ShardResults::read(BufReader::new(file))
        .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
}

#[derive(Default)]
struct Parts {
    parts: BTreeMap<u64, ShardResults>,
}

impl Parts {
    /// Adds the results of a shard. If the same results were added before, does nothing.
    ///
    /// # Errors
    ///
    /// Returns a usage failure if the results that were added before are of another command,
    /// version or number of shards. Also returns a usage failure if the same shard was added before
    /// with other results.
    fn add(&mut self, path: &Path, part: ShardResults) -> Result<(), Failure> {
        let name = path.display();
        if let Some(first) = self.parts.values().next() {
            let (expected, found) = (&first.results.header, &part.results.header);
            if expected.command != found.command {
                return Err(Failure::usage(format!(
                    "{name} is of another command, `{}`: expected `{}`",
                    found.command, expected.command
                )));
            }
            if expected != found {
                return Err(Failure::usage(format!(
                    "{name} is of the same command with another version or other files: run all \
                     shards with the same ones"
                )));
            }
            if first.shard.of != part.shard.of {
                let (found, expected) = (part.shard, first.shard.of);
                let message = format!("{name} is shard {found}: expected one of {expected} shards");
                return Err(Failure::usage(message));
            }
        }
        let number = part.shard.shard;
        match self.parts.get(&number) {
            Some(known) if *known != part => Err(Failure::usage(format!(
                "{name} is shard {}, which another file has with other results: run it again",
                part.shard
            ))),
            Some(_) => Ok(()),
            None => {
                self.parts.insert(number, part);
                Ok(())
            }
        }
    }

    /// Merges the results of all shards. Returns a usage failure if a shard is missing, or if there
    /// are no shards.
    fn merged(self) -> Result<SweepResults, Failure> {
        let all = self.parts.values().next().map_or(0, |part| part.shard.of);
        let missing = (1..=all).filter(|shard| !self.parts.contains_key(shard));
        let missing: Vec<String> = missing.map(|shard| shard.to_string()).collect();
        if !missing.is_empty() {
            let more = missing.len().saturating_sub(MAX_LISTED);
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            let (many, are) = if missing.len() == 1 { ("shard", "is") } else { ("shards", "are") };
            let listed = missing.iter().take(MAX_LISTED).cloned().collect::<Vec<_>>().join(", ");
            return Err(Failure::usage(format!("{many} {listed}{more} of {all} {are} missing")));
        }
        let mut parts = self.parts.into_values();
        let first = parts.next().ok_or_else(|| Failure::usage("no shards are given"))?;
        let mut merged = first.results;
        for part in parts {
            for (cell, other) in merged.point_results.iter_mut().zip(&part.results.point_results) {
                cell.merge(other);
            }
        }
        Ok(merged)
    }
}
