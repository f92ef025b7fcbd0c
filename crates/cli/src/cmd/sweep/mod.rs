//! Sweeps: many runs at each of many points, with statistics, files and plots. A point is an
//! algorithm with a value for each parameter.

mod axis;
mod csv;
mod experiment;
mod figure;
mod json;
pub(crate) mod merge;
mod options;
mod perform;
pub(crate) mod plot;
mod raw;
mod results;
mod shard;
mod shard_results;
mod statistics;
mod table;

use std::path::Path;

use experiment::{BuildPlan, SweepPlan};
use raw::RawCsvFile;
use results::SweepResults;
use shard::Shard;
use shard_results::ShardResults;

use super::failure::{Failure, Status};
use super::machine::stop_at_memory_limit;
use super::output::{print, print_json_text, print_unwrapped};
use super::simulate::options::RunOptions;

pub(crate) use options::{MeasureFormat, SweepOptions};

const DEFAULT_RUNS: u64 = 30;

pub(crate) struct SweepRequest<'a> {
    /// Names of the algorithms, with variants after `+`.
    pub(crate) algorithms: &'a [String],
    pub(crate) run: &'a RunOptions,
    pub(crate) sweep: &'a SweepOptions,
    pub(crate) plot: Option<&'a Path>,
    pub(crate) format: MeasureFormat,
    pub(crate) build: BuildPlan<'a>,
}

/// Performs all runs of a sweep and prints the results. If the options select a shard, performs
/// only the runs of that shard, and prints its results for `tenure merge`.
pub(crate) fn run(request: &SweepRequest<'_>) -> Result<Status, Failure> {
    let SweepRequest { algorithms, run, sweep, plot, format, build } = *request;
    if let Some(path) = plot {
        plot::check_can_write_plot(path)?;
        if sweep.sweep.is_empty() {
            let message = "--plot of measurements needs --sweep, such as --sweep n=3..20";
            return Err(Failure::usage(message));
        }
    }
    let runs = run.runs_or(DEFAULT_RUNS);
    run.check_seeds(runs)?;
    let experiment = SweepPlan::new(algorithms, run, &sweep.sweep, runs, build)?;
    stop_at_memory_limit();
    let raw = sweep.raw.as_deref().map(|path| RawCsvFile::create(path, &experiment.header));
    let shard = sweep.shard.unwrap_or(Shard::WHOLE);
    let results = experiment.perform(shard, run.threads(), raw.transpose()?)?;
    let status = results.status();
    match sweep.shard {
        Some(shard) => print_json_text(&ShardResults { shard, results }.to_json_lines()?)?,
        None => print_results(&results, format, plot)?,
    }
    Ok(status)
}

fn print_results(
    results: &SweepResults,
    format: MeasureFormat,
    plot: Option<&Path>,
) -> Result<(), Failure> {
    match format {
        MeasureFormat::Text => print(&table::table(results))?,
        MeasureFormat::Json => print_json_text(&json::json(results)?)?,
        MeasureFormat::Csv => print_unwrapped(&csv::csv(results))?,
        MeasureFormat::Jsonl => print_json_text(&json::jsonl(results)?)?,
    }
    plot.map_or(Ok(()), |path| plot::write(results, path))
}
